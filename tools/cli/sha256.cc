#include "tools/cli/sha256.h"

#include "tools/cli/text.h"

#include <openssl/evp.h>

#include <cstdio>
#include <cstdlib>

namespace tallystick {
namespace {

void Require(bool succeeded) {
  if (succeeded) return;
  std::fputs("tallystick: libcrypto cannot compute SHA-256\n", stderr);
  std::abort();
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  Require(context_->md != nullptr && EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(std::string_view bytes) {
  Require(EVP_DigestUpdate(context_->md, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::FinishHex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  Require(EVP_DigestFinal_ex(context_->md, digest, &length) == 1);
  return Hex(std::string_view(reinterpret_cast<const char*>(digest), length));
}

}  // namespace tallystick
