// Package questions asks heaptap the questions of new users, word by word, and judges the first answer: does it name
// the function, the file, the process, the number? Beside each answer stands what another tool says, or the kernel, or
// the program itself.
//
// A test types what a user types, in a folder of its own, on a terminal of 80 and one of 200 columns. The programs lie
// in testdata. Those whose resident set is asked about wait at their peak, so that no test depends on time.
package questions
