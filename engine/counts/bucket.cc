#include "engine/counts/bucket.h"

#include "engine/facts/entity.h"

namespace tallystick {

void BucketDeleter::operator()(Bucket* bucket) const {
  delete bucket;
}

}  // namespace tallystick
