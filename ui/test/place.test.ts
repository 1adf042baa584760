import assert from "node:assert/strict";
import { test } from "node:test";
import { formatPlace, home, parsePlace } from "../src/model/place.ts";

test("a place survives its address", () => {
  for (const recording of [undefined, "2", "server.4711", "a&b=c#d/é %"]) {
    const address = formatPlace({ recording });
    assert.deepEqual(parsePlace(new URL(address, "http://127.0.0.1:1").search), { recording });
  }
  assert.equal(formatPlace(home), "/");
});

test("unknown and empty parameters lead home", () => {
  for (const query of ["", "?", "?recording=", "?token=x", "?%", "?recording"]) {
    assert.deepEqual(parsePlace(query), home);
  }
});
