// Package check decides whether a recording keeps to limits, for continuous integration.
//
// A Gate has the conditions. Ask checks a recording and returns a Check for each: the value, the limit and, if it does
// not hold, the call stacks that make up the excess. Values are those of package query. What the runtime keeps for
// itself, and what suppressions name, does not count as leaked.
//
// Against a baseline, the limit of a metric is what the baseline has, plus a tolerance. Call stacks of two
// recordings are the same if the functions on them are: lines and addresses change from build to build.
//
// A recording in which events are missing cannot pass: its numbers are too low, or too high. That is a check of its
// own.
package check
