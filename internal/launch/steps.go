package launch

import "time"

// Step is called between any two steps of the protocol of run and recorder. Tests stop and kill either side there.
var Step = func(name string) {}

// ReadyPatience is how long run waits for a recorder that has not said that the target may start.
var ReadyPatience = 20 * time.Second

// The steps, in the order in which each side comes to them.
const (
	StepRunFolder     = "run has made its folder"
	StepRunRecorder   = "run has started the recorder"
	StepRunSendConfig = "run is about to send the configuration"
	StepRunConfig     = "run has sent the configuration"
	StepRunReady      = "run knows that the recorder is ready"
	StepRunWitness    = "run has started the witness"
	StepRunTarget     = "run has started the target"
	StepRunSendMain   = "run is about to report the target"
	StepRunMain       = "run has reported the target"
	StepRunEnd        = "run has seen the target's end"
	StepRunSendEnded  = "run is about to report the target's end"
	StepRunEnded      = "run has reported the target's end"
	StepRunSettled    = "run knows that everything is written"

	StepRecorder         = "the recorder has started"
	StepRecorderConfig   = "the recorder has its configuration"
	StepRecorderReady    = "the recorder says that it is ready"
	StepRecorderMain     = "the recorder knows of the target"
	StepRecorderStarted  = "the recorder reports a recording"
	StepRecorderEnded    = "the recorder knows of the target's end"
	StepRecorderFinished = "the recorder reports a finished recording"
	StepRecorderSettled  = "the recorder reports that everything is written"
	StepRecorderSent     = "the recorder has sent everything"
)

// Steps are all of them.
var Steps = []string{
	StepRunFolder, StepRunRecorder, StepRunSendConfig, StepRunConfig, StepRunReady, StepRunWitness, StepRunTarget,
	StepRunSendMain, StepRunMain, StepRunEnd, StepRunSendEnded, StepRunEnded, StepRunSettled,
	StepRecorder, StepRecorderConfig, StepRecorderReady, StepRecorderMain, StepRecorderStarted,
	StepRecorderEnded, StepRecorderFinished, StepRecorderSettled, StepRecorderSent,
}
