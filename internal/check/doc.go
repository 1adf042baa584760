// Package check says whether a recording keeps limits, as a gate in continuous integration.
//
// A Gate has the limits. Ask applies it to a recording and returns one Check for each limit: the value, the limit, and,
// if it is exceeded, the call stacks that make up the excess. Values are those of package query. Leaks do not include
// what the runtime keeps for itself, nor what suppressions name.
//
// Several recordings of repeated runs are checked together (AskRuns): limits must hold in each, and what noise explains
// is no regression (chance).
//
// Against a baseline, the limit of a metric is the baseline's value plus a tolerance. Call stacks of two recordings are
// the same if their functions are: lines and addresses change from build to build.
//
// A recording in which events are missing cannot be judged by its numbers, which are too low or too high. That is a
// separate check.
package check
