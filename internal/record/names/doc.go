// Package names chooses the file names of a run's recordings.
//
// The rule: a name is made from a template and from values that programs and hosts choose themselves, such as a
// program's name. A value therefore never leaves its element of the path, and no two recordings of a run get the same
// name.
package names
