"""Proves that each check can fail: plants one fault at a time in a small tree and expects it to be named."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import direct_use_check  # noqa: E402
import docs_check  # noqa: E402
import flags_check  # noqa: E402
import layer_check  # noqa: E402
import source_tree  # noqa: E402


class CheckTest(unittest.TestCase):
    def problems(self, check, tree):
        """Writes tree ({path: text}) to a folder and returns the problems that check finds in it."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in tree.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return check.check(root)[1]

    def expect_fault(self, check, tree, words):
        problems = self.problems(check, tree)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(words, problems[0])

    def expect_clean(self, check, tree):
        self.assertEqual(self.problems(check, tree), [])


class LayerCheckTest(CheckTest):
    def expect_include_fault(self, path, include, words):
        self.expect_fault(layer_check, {path: "// x\n#include %s\n" % include}, words)

    def test_downwards_is_clean(self):
        self.expect_clean(
            layer_check,
            {
                "engine/facts/fact_set.h": "#include <tallystick/types.h>\n#include <vector>\n"
                '#include "engine/base/assert.h"\n#include "engine/facts/image.h"\n',
                "engine/counts/aggregator.h": '#include "engine/storage/store.h"\n',
                "engine/storage/rocks_store.cc": "#include <rocksdb/db.h>\n",
                "engine/write_path.cc": '#include "engine/recovery/recover.h"\n',
                "server/main.cc": '#include <tallystick/engine.h>\n#include "server/server.h"\n',
                "tests/unit/x.cc": "#include <rocksdb/db.h>\n",
            },
        )

    def test_upwards(self):
        self.expect_include_fault("engine/base/log.cc", '"engine/facts/shard.h"', "base may not include")

    def test_sideways(self):
        self.expect_include_fault("engine/facts/x.cc", '"engine/events/event.h"', "facts may not include")

    def test_fact_table_sees_events_and_sets_do_not_see_it(self):
        self.expect_clean(
            layer_check, {"engine/facts/entity.h": '#include "engine/events/event.h"\n'}
        )
        self.expect_include_fault(
            "engine/facts/fact_set.h", '"engine/facts/shard.h"', "facts may not include"
        )

    def test_counts_see_only_the_interface_of_storage(self):
        self.expect_include_fault(
            "engine/counts/x.cc", '"engine/storage/journal.h"', "counts may not include"
        )

    def test_server_sees_only_public_headers(self):
        self.expect_include_fault("server/x.cc", '"engine/base/log.h"', "server may not include")

    def test_tools_do_not_see_the_server(self):
        self.expect_include_fault("tools/cli/x.cc", '"server/resp/reply.h"', "tools may not include")

    def test_public_headers_see_nothing_else(self):
        self.expect_include_fault(
            "engine/include/tallystick/x.h", '"engine/base/log.h"', "public may not include"
        )

    def test_engine_does_not_see_tests(self):
        self.expect_include_fault("engine/base/x.cc", '"tests/support/x.h"', "may not include")

    def test_rocksdb_has_one_place(self):
        self.expect_include_fault("engine/recovery/x.cc", "<rocksdb/db.h>", "has its place in")

    def test_roaring_has_one_place(self):
        self.expect_include_fault("engine/facts/fact_set.cc", "<roaring/roaring.h>", "has its place in")

    def test_queue_has_one_place(self):
        self.expect_include_fault(
            "engine/counts/x.cc", "<concurrentqueue/concurrentqueue.h>", "has its place in"
        )

    def test_pure_parts_have_no_lock(self):
        self.expect_include_fault("engine/facts/chunk.h", '"engine/base/mutex.h"', "a pure part")

    def test_shard_may_lock(self):
        self.expect_clean(layer_check, {"engine/facts/shard.h": '#include "engine/base/mutex.h"\n'})

    def test_unknown_layer(self):
        self.expect_fault(layer_check, {"engine/extra/x.h": "\n"}, "is not a layer")

    def test_public_header_in_quotes(self):
        self.expect_include_fault("engine/base/x.cc", '"tallystick/status.h"', "public header")

    def test_include_without_its_folder(self):
        self.expect_include_fault("engine/base/x.cc", '"log.h"', "from the root of the tree")


class DirectUseCheckTest(CheckTest):
    def expect_code_fault(self, code, words):
        self.expect_fault(direct_use_check, {"engine/facts/x.cc": code}, words)

    def test_each_kind(self):
        for code, words in (
            ("auto t = std::chrono::steady_clock::now();", "clock.h"),
            ("auto t = time(nullptr);", "clock.h"),
            ("std::thread worker;", "executor.h"),
            ("std::this_thread::sleep_for(x);", "executor.h"),
            ("::usleep(5);", "executor.h"),
            ("clock_t c = clock();", "clock.h"),
            ("std::random_device device;", "random.h"),
            ("int r = std::rand();", "random.h"),
            ("int fd = open(path, 0);", "FileSystem"),
            ("if (::fsync(fd) != 0) {}", "FileSystem"),
            ("FILE* f = std::fopen(path, mode);", "FileSystem"),
            ("std::ofstream out(path);", "FileSystem"),
            ("std::mutex m;", "mutex.h"),
        ):
            with self.subTest(code):
                self.expect_code_fault(code + "\n", words)

    def test_comments_strings_and_members_are_clean(self):
        self.expect_clean(
            direct_use_check,
            {
                "engine/facts/x.cc": '// time(0)\n/* std::mutex */ auto s = "open(1)";\n'
                "file->open(1); store.remove(2); Watermark::open(3); uint64_t reopen(4);\n"
                "auto n = 1'000'000; std::thread::id id; x = clock_.MonotonicUs();\n"
                "Engine::Engine(Clock* c) : clock(c), random(r), time(1) {}\n",
                "engine/base/clock.cc": "auto t = std::chrono::steady_clock::now();\n",
                "server/x.cc": "std::thread t;\n",
            },
        )

    def test_line_number(self):
        problems = self.problems(direct_use_check, {"engine/x.cc": "/* a\n b */\nstd::mutex m;\n"})
        self.assertTrue(problems[0].startswith("engine/x.cc:3: "), problems)


class DocsCheckTest(CheckTest):
    TREE = {
        "engine/facts/a.h": "",
        "engine/include/tallystick/engine.h": "",
        "tests/unit/a_test.cc": "TEST(SetTest, AddsOnce) {}\nTEST_F(MapTest,\n       Finds) {}\n",
        "docs/other.md": "# Other page\n\n## Two words, here\n",
    }

    def with_page(self, text, path="docs/page.md"):
        return dict(self.TREE, **{path: text})

    def test_true_page_is_clean(self):
        self.expect_clean(
            docs_check,
            self.with_page(
                "`engine/facts/a.h` `engine/facts/` `engine/facts/{a,*}.h` `a.h` `<tallystick/engine.h>`\n"
                "`SetTest.AddsOnce` `MapTest.Finds` `build/bin/x` `like:article:42` `--dir ./data`\n"
                "[page](other.md) [part](other.md#two-words-here) [web](https://example.org/x)\n"
                "```\n`engine/none.h` inside a block\n```\n"
            ),
        )

    def test_missing_file(self):
        self.expect_fault(docs_check, self.with_page("`engine/facts/b.h`"), "no file or folder")

    def test_missing_folder_with_arguments(self):
        self.expect_fault(docs_check, self.with_page("`tests/none run`"), "no file or folder")

    def test_one_of_an_alternative(self):
        self.expect_fault(docs_check, self.with_page("`engine/facts/{a,b}.h`"), "engine/facts/b.h")

    def test_glob_without_a_match(self):
        self.expect_fault(docs_check, self.with_page("`engine/facts/*.cc`"), "no file or folder")

    def test_missing_bare_name(self):
        self.expect_fault(docs_check, self.with_page("`none.h`"), "no file is called")

    def test_missing_public_header(self):
        self.expect_fault(docs_check, self.with_page("`<tallystick/none.h>`"), "no file or folder")

    def test_missing_test_case(self):
        self.expect_fault(docs_check, self.with_page("`SetTest.AddsTwice`"), "no test case")

    def test_dead_link(self):
        self.expect_fault(docs_check, self.with_page("[x](none.md)"), "leads nowhere")

    def test_dead_anchor(self):
        self.expect_fault(docs_check, self.with_page("[x](other.md#none)"), "no heading")

    def test_path_of_a_machine(self):
        self.expect_fault(docs_check, self.with_page("see /home/someone/x"), "particular machine")

    def test_data_folder(self):
        self.expect_fault(docs_check, self.with_page("in ../shared/data"), "data folder")
        self.expect_clean(docs_check, self.with_page("in ../shared/data", "docs/testing.md"))


class FlagsCheckTest(unittest.TestCase):
    HELP = "Options:\n  -h,--help   Print\n  --port      TCP port [6379]\n  --accept-loss   open\n"

    def test_same_flags(self):
        self.assertEqual(flags_check.difference("`--port`, `--accept-loss`", self.HELP), (2, []))

    def test_flag_that_the_page_lacks(self):
        _, problems = flags_check.difference("`--port`", self.HELP)
        self.assertEqual(problems, ["docs/operations.md does not name --accept-loss"])

    def test_flag_that_the_server_lacks(self):
        _, problems = flags_check.difference("`--port` `--accept-loss` `--gone`", self.HELP)
        self.assertEqual(problems, ["the server has no flag --gone"])


class SourceTreeTest(CheckTest):
    def test_a_check_that_examined_nothing_fails(self):
        with self.assertRaises(SystemExit) as exit_:
            source_tree.report("x", 0, [])
        self.assertEqual(exit_.exception.code, 1)

    def test_problems_fail(self):
        with self.assertRaises(SystemExit) as exit_:
            source_tree.report("x", 3, ["a"])
        self.assertEqual(exit_.exception.code, 1)


if __name__ == "__main__":
    unittest.main()
