// Package order merges the streams of a process by time. What was drained of a stream arrives in pieces; a Merger
// decodes them and hands on batches of records, the oldest ones first. Within a stream its own order decides, across
// streams the timestamp, then the stream's uid.
//
// The rule: a record is handed on only when no older one can still appear. That is known by rounds: the drain reads the
// clock, makes all writers' earlier stores visible (membarrier), and then looks at every stream. A stream whose writer
// is not busy with an event will never show an event older than that clock reading. One whose writer is busy holds back
// the merge at the time of its previous event, as long as the rounds say that it is busy. What appears later than that
// is handed on at once, with a time that is less than that of the record before.
//
// Decoding happens in two loops. decodePlain is the fast one, for records that are plain events and in order;
// decodeSlow takes one record of any kind. Both are short enough for what they need to stay in registers and in the
// first-level cache (docs/design/0004-the-recorder.md).
package order
