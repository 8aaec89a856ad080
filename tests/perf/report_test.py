"""What perf/peers/report makes of measurements: which settings go on, which ratios are told, and what stands in the document.

report_test.py FOLDER_OF_THE_REPORT
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

folder = sys.argv.pop(1)
sys.path.insert(0, folder)
import choose  # noqa: E402
import tables  # noqa: E402
import write  # noqa: E402
from results import Results  # noqa: E402

INPLACE = "allreduce_inplace"


def row(section, turn, variant, size, us, collective=INPLACE):
    return f"{section},{turn},{variant},{collective},2,float32,{size},100,{us},{us},1,1,{us}"


SAMPLE = [
    "fact,date,2000-01-01", "fact,processor,a processor, 2 cores", "fact,kernel,Linux", "fact,rounds,pair,2", "fact,near,0.02,0.25,0.04,7",
    "fact,library,plait,5965", "fact,memory 2,2 ranks; made in 1 ms",
    *[row("pair", t, v, 8, us) for t in (0, 1, 2, 3) for v, us in (("limit-line", 0.1), ("plait", 0.2 + t / 100), ("impi-def", 0.6))],
    *[row("pair", 0, v, 8, us) for v, us in (("ompi-def", 0.9), ("ompi-rd", 0.7), ("ompi-raben", 0.8), ("gloo-def", 30))],
    row("pair", 1, "plait", 1 << 20, 12), row("pair", 1, "limit-direct", 1 << 20, 10), row("pair", 1, "impi-def", 1 << 20, 60),
    row("hosts2", 1, "plait", 16 << 20, 4000), "hosts2,1,iperf3 --bidir,1.5,GB/s", row("idle4", 1, "plait", 65536, 1500, "idle"),
    "growth,1,steps allreduce/ring 2,4,steps", "growth,1,steps allreduce/ring 4,12,steps",
]


def results_of(lines):
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as file:
        file.write("\n".join(lines) + "\n")
    try:
        return Results(file.name)
    finally:
        os.unlink(file.name)


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.results = results_of(SAMPLE)

    def test_medians_are_of_the_rounds_and_not_of_the_quick_one(self):
        self.assertEqual(self.results.at("pair", INPLACE, 8, "plait").us, 0.22)
        self.assertTrue(self.results.at("pair", INPLACE, 8, "ompi-rd").once)

    def test_turns_with_the_cores_apart_count_where_there_are_no_others(self):
        both = [row("pair", 1, "plait", 8, 0.3), row("pair", 2, "plait", 8, 0.9) + ",apart", row("pair", 1, "impi-def", 8, 0.8) + ",apart",
                row("pair", 0, "ompi-def", 8, 0.5), row("pair", 1, "ompi-def", 8, 1.5) + ",apart"]
        results = results_of(both)
        self.assertEqual([results.at("pair", INPLACE, 8, v).us for v in ("plait", "impi-def", "ompi-def")], [0.3, 0.8, 0.5])
        self.assertEqual([results.at("pair", INPLACE, 8, v).apart for v in ("plait", "impi-def", "ompi-def")], [False, True, False])
        self.assertIn("0.800‡", tables.latencies(results, "pair", INPLACE))

    def test_the_best_two_settings_of_peers_that_are_near_go_on(self):
        self.assertEqual(set(choose.chosen(self.results, "pair", INPLACE, 8)), {"limit-line", "plait", "impi-def", "ompi-rd", "ompi-raben"})

    def test_sizes_that_were_not_in_the_quick_round_go_by_the_next_below(self):
        self.assertIn("ompi-rd", choose.chosen(self.results, "pair", INPLACE, 512))

    def test_ratios(self):
        small = tables.Judged(self.results, "pair", INPLACE, 8, "plait")
        self.assertAlmostEqual(small.of_limit, 2.2)
        self.assertAlmostEqual(small.ahead, 0.6 / 0.22)
        self.assertEqual([met for _, _, met in small.questions()], [False, True])
        large = tables.Judged(self.results, "pair", INPLACE, 1 << 20, "plait")
        self.assertEqual([met for _, _, met in large.questions()], [True, True])

    def test_the_document_keeps_its_text_and_gets_tables(self):
        text = "before\n<!-- report: in-place begin -->\nold\n<!-- report: in-place end -->\nafter\n"
        filled = write.fill(text, self.results)
        self.assertTrue(filled.startswith("before\n") and filled.endswith("after\n"))
        self.assertNotIn("old", filled)
        self.assertIn("| 8 B | 0.100 | 0.220 |", filled)
        self.assertEqual(write.fill(filled, self.results), filled)

    def test_bounds_have_their_units(self):
        verdicts = tables.verdicts(self.results)
        self.assertIn("| at most 0.2 % of a core | 0.150 % of a core (64 KiB) | met |", verdicts)
        self.assertIn("| 2 x iperf3 --bidir | 2.80 (16 MiB) | met |", verdicts)

    def test_every_block_can_be_made(self):
        for name, block in write.BLOCKS.items():
            with self.subTest(name):
                self.assertIsInstance(block(self.results), str)

    def test_every_block_of_the_document_can_be_made_of_nothing(self):
        for name, block in write.BLOCKS.items():
            with self.subTest(name):
                self.assertIsInstance(block(results_of(["fact,date,2000-01-01"])), str)

    def test_pictures_are_xml(self):
        with tempfile.TemporaryDirectory() as docs:
            write.pictures(self.results, pathlib.Path(docs))
            drawn = sorted(path.name for path in pathlib.Path(docs).iterdir())
            self.assertEqual(drawn, ["performance-growth-steps.svg", "performance-hosts2.svg", "performance-in-place.svg"])
            for name in drawn:
                xml.etree.ElementTree.parse(pathlib.Path(docs) / name)

    def test_wrong_results_are_named(self):
        line = "pair,1,gloo-def,allreduce,2,float32,8,0,WRONG,,,,"
        self.assertIn("Wrong results: 1", tables.machine(results_of(SAMPLE + [line])))

    def test_the_guard_fails_beyond_a_bound(self):
        lines = ["1,untouched,limit-line,allreduce_inplace,2,float32,8,1,0.1,0.1,1,1,0.1",
                 "1,untouched,plait,allreduce_inplace,2,float32,8,1,9,9,1,1,9"]
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            done = subprocess.run([sys.executable, os.path.join(folder, "guard.py"), file.name], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("BEYOND", done.stdout)


if __name__ == "__main__":
    unittest.main()
