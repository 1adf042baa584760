# python3 with many modules of its library: some 5 million events at some 70,000 call stacks, up to 300 deep.
import argparse, ast, asyncio, collections, concurrent.futures, configparser, copy, csv, ctypes, datetime, decimal
import difflib, dis, doctest, email.mime.text, enum, fractions, functools, glob, gzip, html.parser, http.server, inspect
import ipaddress, itertools, json, logging.config, multiprocessing, optparse, pdb, pickle, platform, pprint, pydoc
import random, re, sched, shelve, shlex, smtplib, socketserver, sqlite3, ssl, statistics, string, subprocess, sys
import tarfile, tempfile, textwrap, timeit, tokenize, traceback, typing, unittest.mock, urllib.request, uuid
import wave, xml.dom.minidom, xml.etree.ElementTree, xmlrpc.client, zipfile

# Trees of code and of data, which are walked recursively: deep call stacks.
tree = ast.parse(inspect.getsource(textwrap) + inspect.getsource(shlex) + inspect.getsource(csv))
copies = [copy.deepcopy(tree) for _ in range(2)]
text = ast.unparse(tree)
data = []
for i in range(280):
    data = {"deeper": data, "words": text.split()[i * 5 : i * 5 + 5]}
for _ in range(3):
    data = json.loads(json.dumps(data))
    data = pickle.loads(pickle.dumps(data))
# The same few call stacks, again and again.
for _ in range(2):
    tokens = list(tokenize.generate_tokens(iter(text.splitlines(True)).__next__))
    records = [{"kind": t.type, "text": t.string, "at": list(t.start)} for t in tokens]
    json.loads(json.dumps(records))
    list(csv.reader(json.dumps(records).split("}")))
