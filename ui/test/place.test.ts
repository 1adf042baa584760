import assert from "node:assert/strict";
import { test } from "node:test";
import { formatPlace, home, parsePlace, placeOf, type Place } from "../src/model/place.ts";

function again(place: Place): Place {
  return parsePlace(new URL(formatPlace(place), "http://127.0.0.1:1").search);
}

test("a place survives its address", () => {
  for (const recording of ["2", "server.4711", "a&b=c#d/é %+"]) {
    assert.deepEqual(again(placeOf(recording)), placeOf(recording));
  }
  const full: Place = {
    ...placeOf("2"),
    page: "flame",
    from: "1.5s",
    to: "mark & more",
    focus: ["^operator new\\(unsigned long\\)$", "a,b"],
    below: ["main", "std::vector<int>::push_back(int&&)"],
    metric: ["live", "bytes"],
    up: true,
  };
  assert.deepEqual(again(full), full);
  assert.equal(formatPlace(home), "/");
});

test("addresses can be read", () => {
  const place: Place = { ...placeOf("2"), page: "tree", from: "1.5s", focus: ["(a::b)"], up: true };
  assert.equal(formatPlace(place), "/?recording=2&page=tree&from=1.5s&focus=(a::b)&up");
});

test("unknown and empty parameters lead home", () => {
  for (const query of ["", "?", "?recording=", "?token=x", "?%", "?recording", "?page=nowhere", "?focus="]) {
    assert.deepEqual(parsePlace(query), home);
  }
});

test("half a character does not break an address", () => {
  assert.equal(formatPlace({ ...home, match: "a\ud800b" }), "/?match=a%EF%BF%BDb");
});
