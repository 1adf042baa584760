// Package check says whether a recording keeps to limits: the gate of a continuous integration.
//
// A Gate has what must hold. Ask puts it to a recording and returns a Result with one Check for each: the value,
// the limit, and, where it does not hold, the call stacks that make up the excess. Values are those of package
// query; of what is leaked, neither what the runtime keeps for itself nor what suppressions name counts.
//
// Against a baseline, the limit of a metric is what the baseline has, plus a tolerance. Call stacks of two
// recordings are the same if the functions on them are: lines and addresses change from build to build.
//
// A recording in which events are missing cannot keep to anything: its numbers are too low, or too high. That is a
// check of its own.
package check
