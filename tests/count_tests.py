#!/usr/bin/env python3
"""Prints `PASSED FAILED` for a build folder: GoogleTest's cases, the entries of ctest that are not GoogleTest's, pytest's cases,
those of the page's tests."""
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def main() -> None:
    build = Path(sys.argv[1])
    passed = failed = 0
    programs = set()
    for file in sorted((build / "gtest").glob("*.xml")):
        programs.add(file.stem)
        for case in ElementTree.parse(file).iter("testcase"):
            if case.get("status") == "run":
                failed += case.find("failure") is not None
                passed += case.find("failure") is None
    report = build / "ctest.xml"  # not there when nothing could be run, which is a failed stage
    for entry in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        if entry.get("status") != "run":
            failed += 1  # failed, timed out, or not to be run: a GoogleTest program that crashed is counted here
        elif entry.get("name") not in programs:
            passed += 1
    reports = [file for file in [build / "pytest.xml", *sorted(build.glob("viz-*.xml"))] if file.exists()]
    for case in (case for file in reports for case in ElementTree.parse(file).iter("testcase")):
        if case.find("skipped") is None:
            is_bad = case.find("failure") is not None or case.find("error") is not None
            failed += is_bad
            passed += not is_bad
    print(passed, failed)


if __name__ == "__main__":
    main()
