/** What holds for the views of any thread: the shape of each event, its number and id, and one end for each turn. */
import type { z } from 'zod'
import type { ThreadEvent } from '../../src/protocol/events.js'
import {
  agentRuntimeCore,
  agentRuntimeProfile,
  koreEvent,
  openTelemetryRecord,
  runEvent,
  taskEvent,
} from '../../src/server/view-schemas.js'
import type { AgentRuntimeEvent, RunEvent, View, ViewedFact, ViewSubject } from '../../src/views/index.js'
import { VIEWS } from '../../src/views/views.js'
import type { ViewEvents, ViewName } from '../../src/views/views.js'

const SHAPES: Readonly<Record<ViewName, readonly z.ZodType[]>> = {
  ar: [agentRuntimeCore, agentRuntimeProfile],
  kp: [koreEvent],
  pl: [runEvent],
  pl_task: [taskEvent],
  otel: [openTelemetryRecord],
}

export const VIEW_NAMES = Object.keys(VIEWS) as readonly ViewName[]

/** All events that a view makes of these. */
export function viewed<Viewed>(
  view: View<unknown, Viewed>,
  events: readonly ViewedFact[],
): readonly Viewed[] {
  let state = view.begin
  return events.flatMap((event) => {
    const [next, made] = view.take(state, event)
    state = next
    return made
  })
}

export function viewOf<Name extends ViewName>(
  name: Name,
  subject: ViewSubject,
  events: readonly ViewedFact[],
): readonly ViewEvents[Name][] {
  return viewed(VIEWS[name].make(subject), events)
}

/** What is wrong with the views of a thread; `rests`: nothing of it is under way. */
export function viewProblems(
  subject: ViewSubject,
  events: readonly ThreadEvent[],
  { rests }: { readonly rests: boolean },
): readonly string[] {
  const shapes = VIEW_NAMES.flatMap((name) => shapeProblems(name, viewOf(name, subject, events)))
  const runtime = viewOf('ar', subject, events)
  const runs = viewOf('pl', subject, events)
  return [
    ...shapes,
    ...orderProblems('ar', runtime),
    ...orderProblems('kp', viewOf('kp', subject, events)),
    ...orderProblems('pl', runs),
    ...idProblems(runtime),
    ...turnProblems(runtime, { rests }),
    ...taskProblems(runs, { rests }),
    ...nestingProblems(runtime),
  ]
}

function shapeProblems(name: ViewName, events: readonly unknown[]): readonly string[] {
  return events.flatMap((event) =>
    SHAPES[name].flatMap((shape) => {
      const { error } = shape.safeParse(event)
      return error === undefined ? [] : [`${name} ${JSON.stringify(event)}: ${error.message}`]
    }),
  )
}

/** Deltas have no number; all others count from 1. */
function orderProblems(name: string, events: readonly { readonly sequence?: number }[]): readonly string[] {
  const numbers = events.flatMap(({ sequence }) => sequence ?? [])
  const wrong = numbers.findIndex((sequence, index) => sequence !== index + 1)
  return wrong === -1 ? [] : [`${name} has the number ${numbers[wrong]} at place ${wrong + 1}`]
}

function idProblems(events: readonly AgentRuntimeEvent[]): readonly string[] {
  const ids = events.map(({ eventId }) => eventId)
  return new Set(ids).size === ids.length ? [] : [`${ids.length - new Set(ids).size} ids come twice`]
}

/** Each submitted turn begins and ends at most once, and in a thread that rests it has ended. */
function turnProblems(
  events: readonly AgentRuntimeEvent[],
  { rests }: { readonly rests: boolean },
): readonly string[] {
  const turns = new Map<string, string[]>()
  for (const { type, turnId = '' } of events)
    if (type.startsWith('turn.')) turns.set(turnId, [...(turns.get(turnId) ?? []), type])
  const allowed = rests
    ? /^turn.submitted( turn.started)?( turn.(completed|failed))$/
    : /^turn.submitted( turn.started)?( turn.(completed|failed))?$/
  return [...turns].flatMap(([id, types]) =>
    allowed.test(types.join(' ')) ? [] : [`the turn ${id} has ${types.join(' ')}`],
  )
}

function taskProblems(
  events: readonly RunEvent[],
  { rests }: { readonly rests: boolean },
): readonly string[] {
  const statuses = events.filter(({ type }) => type === 'task.status')
  const finals = statuses.filter(({ final }) => final).map(({ task_id: id }) => id)
  const tasks = new Set(statuses.map(({ task_id: id }) => id).filter((id) => id !== null))
  const twice = finals.filter((id, index) => finals.indexOf(id) !== index)
  const open = rests ? [...tasks].filter((id) => !finals.includes(id)) : []
  return [
    ...twice.map((id) => `the task ${id} has two final events`),
    ...open.map((id) => `the task ${id} has no final event`),
  ]
}

/** Items of the events that come from outside of a step. */
const OUTSIDE_ITEMS: ReadonlySet<unknown> = new Set(['approval_request', 'input_request', 'warning'])

/** What has the id of a call or step has those that these belong to; a run has a turn as soon as it has taken a message. */
function nestingProblems(events: readonly AgentRuntimeEvent[]): readonly string[] {
  let started = false
  return events.flatMap(({ type, stepId, runId, toolCallId, turnId, eventId, payload }) => {
    // A hook of the next drain comes before the run that this begins.
    if (/^run\.(started|completed|failed|cancelled)$/.test(type)) started = false
    if (type === 'turn.started') started = true
    // The report of a subagent, the end of a request, and that of a queued call, or why it is skipped, come from outside of a step.
    const isItem = type.startsWith('item.') && OUTSIDE_ITEMS.has(payload['kind'])
    const isFromOutside =
      isItem || /^(subagent\.|action\.|permission\.|message\.ended$|runtime\.warning$)/.test(type)
    return [
      ...(stepId !== undefined && runId === undefined ? [`${eventId} ${type} has a step and no run`] : []),
      ...(toolCallId !== undefined && stepId === undefined && !isFromOutside
        ? [`${eventId} ${type} has a call and no step`]
        : []),
      ...(stepId !== undefined && turnId === undefined && started
        ? [`${eventId} ${type} has a step and no turn`]
        : []),
    ]
  })
}
