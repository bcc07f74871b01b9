/** T5: what was said stands in no history, but where its sender chose to send it inline, until it is stored. */
import type { CallModelAnswer, CallModelInput } from '../../src/protocol/activities.js'
import { ACTIVITIES } from '../../src/protocol/answer-problem.js'
import type { CarriedControl } from '../../src/thread/continue-as-new.js'
import { WORDS } from '../outside/words.js'
import type { Command, Job } from '../temporal/command.js'
import type { WorkflowRun } from '../temporal/workflow-run.js'
import type { World } from '../world.js'

/** Answers of a model call that has drained nothing. */
const NOT_DRAINED: readonly CallModelAnswer['type'][] = [
  'moved',
  'begun',
  'activates',
  'refused',
  'terminated',
]

/** Looks at each completed task of a thread. */
export function watchContent(
  world: World,
): (run: WorkflowRun, jobs: readonly Job[], commands: readonly Command[]) => void {
  const stored = new Set<string>()
  /** What each activity that drains inline messages was given. */
  const draining = new Map<string, readonly string[]>()
  return (run, jobs, commands) => {
    for (const job of jobs) {
      if (job.kind !== 'activity' || job.end.kind !== 'answered') continue
      const { answer } = job.end
      if (answer.includes(WORDS)) leaks(world, run, `the answer of an activity: ${answer}`)
      const items = draining.get(keyOf(run, job.seq))
      // What an operator says is no answer: the same activity is asked for once more.
      if (items === undefined || job.end.byOperator === true) continue
      const { type } = JSON.parse(answer) as CallModelAnswer
      if (!NOT_DRAINED.includes(type)) for (const item of items) stored.add(item)
    }
    const details = run.instance?.details ?? ''
    if (details.includes(WORDS)) leaks(world, run, `details: ${details}`)
    for (const command of commands) {
      const inline = inlineOf(run, command)
      if (inline === null) continue
      if (inline.rest.includes(WORDS)) leaks(world, run, `${command.kind}: ${inline.rest}`)
      for (const item of inline.items)
        if (stored.has(item)) leaks(world, run, `${command.kind} still has ${item}, which is stored`)
      if (command.kind === 'activity') draining.set(keyOf(run, command.seq), inline.items)
    }
  }
}

function leaks(world: World, { workflowId }: WorkflowRun, what: string): void {
  world.breaks('T5 a history has words of a conversation', `${workflowId} ${what}`)
}

function keyOf({ workflowId, number }: WorkflowRun, seq: number): string {
  return `${workflowId} ${number} ${seq}`
}

interface Inline {
  /** `thread item` of each message that may be there with its words. */
  readonly items: readonly string[]
  /** All else that the command writes. */
  readonly rest: string
}

/** Null: no word is in it, as nearly always. */
function inlineOf({ workflowId }: WorkflowRun, command: Command): Inline | null {
  const items: string[] = []
  if (command.kind === 'activity' && command.name === ACTIVITIES.callModel) {
    if (!command.input.includes(WORDS)) return null
    const { drain = [], ...rest } = JSON.parse(command.input) as Partial<CallModelInput>
    const others = drain.map((item) => {
      if (item.kind !== 'message' || item.inline === undefined) return item
      items.push(`${workflowId} ${item.id}`)
      return { ...item, inline: { ...item.inline, content: '' } }
    })
    return { items, rest: JSON.stringify([others, rest]) }
  }
  if (command.kind === 'continueAsNew') {
    if (!command.carried.includes(WORDS)) return { items, rest: command.start }
    const { queue, ...rest } = JSON.parse(command.carried) as CarriedControl
    const others = queue.map((entry) => {
      if (entry[0] !== 'i') return entry
      items.push(`${workflowId} ${entry[1]}`)
      return entry.toSpliced(4, 1)
    })
    return { items, rest: JSON.stringify([command.start, others, rest]) }
  }
  const text = textOf(command)
  return text.includes(WORDS) ? { items, rest: text } : null
}

function textOf(command: Command): string {
  switch (command.kind) {
    case 'activity':
    case 'signal':
      return command.input
    case 'child':
      return command.start + command.labels
    case 'update':
      return command.refusal ?? ''
    case 'complete':
      return command.result
    case 'bug':
      return command.message
    default:
      return ''
  }
}
