<?php
// Toggles likes as an application does that keeps them in a Redis set.
require __DIR__ . '/clicks.php';

run(function (Redis $redis, string $key, int $uid): array {
    $before = $redis->sIsMember($key, (string) $uid);
    $changed = $before ? $redis->sRem($key, (string) $uid) : $redis->sAdd($key, (string) $uid);
    if ($changed !== 1) {
        fail("user $uid: changing the set answered " . var_export($changed, true));
    }
    if ($redis->sIsMember($key, (string) $uid) === $before) {
        fail("user $uid: the change is not seen");
    }
    return [$before, $redis->sCard($key)];
});
