<?php
// What the two click scripts share: connecting, random clicks, and the array of who likes, which is
// handed from one run to the next in a file.
//
// usage: php likes_by_....php HOST PORT KEY STATE_FILE CLICKS SEED
//
// After every click, the state that the server tells and its count must agree with the array. The
// script ends with code 1 and says which click went wrong, or prints how many people like at the end.

const USERS = 400;

function run(callable $click): void
{
    global $argv;
    [, $host, $port, $key, $file, $clicks, $seed] = $argv;
    mt_srand((int) $seed);
    $redis = new Redis();
    $redis->connect($host, (int) $port, 10);
    $likes = is_file($file) ? array_fill_keys(json_decode(file_get_contents($file)), true) : [];
    for ($i = 1; $i <= (int) $clicks; $i++) {
        // Some of the ids lie in other chunks.
        $uid = mt_rand(0, USERS - 1);
        $uid = $uid % 5 === 0 ? $uid * 1000 : $uid;
        if (isset($likes[$uid])) {
            unset($likes[$uid]);
        } else {
            $likes[$uid] = true;
        }
        [$before, $count] = $click($redis, $key, $uid);
        if ($before === isset($likes[$uid])) {
            fail("click $i of user $uid: the server had " . var_export($before, true));
        }
        if ($count !== count($likes)) {
            fail("click $i of user $uid: the server counts $count, right is " . count($likes));
        }
    }
    file_put_contents($file, json_encode(array_keys($likes)));
    echo count($likes), "\n";
}

function fail(string $why): void
{
    fwrite(STDERR, $why . "\n");
    exit(1);
}
