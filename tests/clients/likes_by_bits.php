<?php
// Toggles likes as an application does that keeps them in a Redis bitmap.
require __DIR__ . '/clicks.php';

run(function (Redis $redis, string $key, int $uid): array {
    $before = $redis->getBit($key, $uid) === 1;
    $previous = $redis->setBit($key, $uid, !$before);
    if ($previous !== (int) $before) {
        fail("user $uid: SETBIT answered " . var_export($previous, true));
    }
    if (($redis->getBit($key, $uid) === 1) === $before) {
        fail("user $uid: the change is not seen");
    }
    return [$before, $redis->bitCount($key)];
});
