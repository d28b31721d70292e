"""Tests of the studio's pages. A package, so that what takes long to start ends with the last test of the folder."""
