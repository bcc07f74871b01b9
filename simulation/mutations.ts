/** Known ways to break the logic, as changes of its source: a simulator that does not find each of them proves nothing. */
interface Mutation {
  readonly name: string
  readonly file: string
  /** Code that the file has exactly once. */
  readonly find: string
  readonly replace: string
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a new item goes to the head of the queue',
    file: 'src/thread/inbox.ts',
    find: 'return [...queue, entry]',
    replace: 'return [entry, ...queue]',
  },
  {
    name: 'scheduled effects are not carried',
    file: 'src/thread/continue-as-new.ts',
    find: 'effects: control.effects.map(({ id, dueAt }) => [id, dueAt] as const)',
    replace: 'effects: []',
  },
  {
    name: 'a settle forgets what came while it ran',
    file: 'src/workflows/settle.ts',
    find: 'host.update((current) => applySettled(current, {',
    replace: 'host.update(() => applySettled(control, {',
  },
  {
    name: 'a report leaves its call owed',
    file: 'src/thread/children.ts',
    find: 'const left = child.owes.filter(({ callId }) => !said.invocations.includes(callId))',
    replace: 'const left = child.owes',
  },
  {
    name: 'what a child said to a call is lost when the call is cut',
    file: 'src/thread/settling.ts',
    find: 'listCalls(step.calls).reduce((next, call) => interruptWait(next, call, now), control)',
    replace: 'listCalls(step.calls).reduce((next) => next, control)',
  },
  {
    name: 'the children of a closing thread are not told',
    file: 'src/thread/settling.ts',
    find: 'control.closing?.cascade ?? listOpenChildren(control).map((child) => child.reference)',
    replace: 'control.closing?.cascade ?? []',
  },
  {
    name: 'what a call did to its thread is passed over',
    file: 'src/thread/call-answers.ts',
    find: 'changeStep(applyOperations(deferring, answer.operations, now), (step) => markPhase(step, answer))',
    replace: 'changeStep(applyOperations(deferring, [], now), (step) => markPhase(step, answer))',
  },
  {
    name: 'facts without an answer are sent as new ones',
    file: 'src/thread/facts.ts',
    find: 'return { ...forgetSentFacts(control, { ...sent, unansweredFacts: [] }), unansweredFacts }',
    replace: 'return control',
  },
  {
    name: 'facts that were stored are sent again',
    file: 'src/thread/facts.ts',
    find: 'facts: control.facts.filter((fact) => !stored.has(fact))',
    replace: 'facts: stored.size > 2 ? control.facts : control.facts.filter((fact) => !stored.has(fact))',
  },
  {
    name: 'a run gets the number of the last one',
    file: 'src/thread/advance.ts',
    find: 'number: control.runs + 1',
    replace: 'number: Math.max(1, control.runs)',
  },
  {
    name: 'the close of a child that owes is not seen',
    file: 'src/thread/children.ts',
    find: 'return answerByClose(gone, { ...child, status }, now)',
    replace: 'return gone',
  },
  {
    name: 'a run that was stopped goes on',
    file: 'src/thread/run.ts',
    find: 'if (run.stop === null) return null',
    replace: 'if (run.stop === null || run.steps > 0) return null',
  },
  {
    name: 'a workflow reads a clock that no history has',
    file: 'src/workflows/wait.ts',
    find: 'const delay = Math.min(Math.max(1, at - Date.now()), LIMITS.longestTimer)',
    replace: 'const delay = Math.max(1, Math.floor(performance.now() * 1000) % 60_000)',
  },
  {
    name: 'a start keeps the message that came with it',
    file: 'src/workflows/agent-thread.ts',
    find: 'initialControl(workflowInfo().workflowId, facts, now)',
    replace: 'initialControl(workflowInfo().workflowId, start, now)',
  },
  {
    name: 'a snapshot shows what was sent inline',
    file: 'src/thread/snapshot.ts',
    find: 'return { id: entry.id, kind: kindOf(entry), queuedAt: entry.queuedAt }',
    replace: 'return { ...entry, kind: kindOf(entry) }',
  },
  {
    name: 'a warning quotes the message that was skipped',
    file: 'src/thread/inbox.ts',
    find: "withWarning(control, 'message_skipped', problem)",
    replace: "withWarning(control, 'message_skipped', problem + JSON.stringify(input))",
  },
  {
    name: 'what was drained stays in the state',
    file: 'src/thread/inbox.ts',
    find: 'withInvocations(control, leaving),\n    control.queue',
    replace: '{ ...withInvocations(control, leaving), drained: leaving },\n    control.queue',
  },
  {
    name: 'a promoted item keeps its place',
    file: 'src/thread/operations.ts',
    find: 'const queue = [entry, ...next.queue.filter((other) => other !== entry)]',
    replace: 'const queue = next.queue',
  },
  {
    name: 'a message for the next turn joins the run',
    file: 'src/thread/inbox.ts',
    find: "const begins = run?.began === 'not_yet'",
    replace: 'const begins = run !== null',
  },
  {
    name: 'a message that preempts goes last',
    file: 'src/thread/inbox.ts',
    find: "if (deliveryOfEntry(entry) !== 'preempt') return",
    replace: 'if (queue.length >= 0) return',
  },
  {
    name: 'what came while an activity went on by itself is lost',
    file: 'src/thread/ahead.ts',
    find: 'received.reduce((control, change) => change(control), applyDone(done, now))',
    replace: 'applyDone(done, now)',
  },
]
