"""Counts words, and remembers every line that it has read."""
import sys


class Index:
    def __init__(self):
        self.lines = []
        self.words = {}

    def add(self, line):
        self.lines.append(line.split())  # the memory: lists of words
        for word in line.split():
            self.words[word] = self.words.get(word, 0) + 1


index = Index()
for n in range(20000):
    index.add(f"line {n} has {n % 97} and {n % 89} and some more words")
if "--pools" in sys.argv:
    sys._debugmallocstats()
print(len(index.lines), "lines")
print("ready", flush=True)
sys.stdin.read()
