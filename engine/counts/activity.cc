#include "engine/counts/activity.h"

#include "engine/base/assert.h"

namespace tallystick {

void ActivityDeleter::operator()(ActivityHead* activity) const {
  delete static_cast<Activity*>(activity);
}

Activity& Activity::Of(Entity& entity) {
  if (Activity* activity = entity.activity()) return *activity;
  auto made = std::make_unique<Activity>();
  made->details.reset(static_cast<Entity::Details*>(entity.rest_));
  entity.rest_ = static_cast<ActivityHead*>(made.get());
  entity.active_ = true;
  return *made.release();
}

void Activity::Drop(Entity& entity) {
  Activity* activity = entity.activity();
  TALLY_ASSERT(activity != nullptr && activity->clean());
  TALLY_ASSERT(!activity->bucket.is_open() && activity->tail == nullptr);
  entity.active_ = false;
  entity.rest_ = activity->details.release();
  delete activity;
}

}  // namespace tallystick
