/** The event log of a thread at rest: each step has all its phases once, in order; each run begins and ends once. */
import type { LoggedFact } from '../store/rows.js'
import type { World } from '../world.js'
import type { Resting } from './rest-rules.js'

export function checkEvents(world: World, { thread, state, snapshot }: Resting): void {
  if (snapshot !== null && snapshot.run !== null) return
  if (state === 'none') return
  const closing = thread.events.findIndex(({ type }) => type === 'thread.closed')
  if (closing !== -1 && closing < thread.events.length - 1)
    world.breaks(
      'an event comes behind the close of its thread',
      `${thread.id} ${thread.events.at(-1)?.type}`,
    )
  if (world.log.garbled.has(thread.id)) return world.saw('excused events of a garbled answer')
  checkSteps(world, thread)
  // Its workflow cannot know what was stored before.
  if (world.log.unheard.has(thread.id)) return world.saw('excused events of an unheard activity')
  checkRuns(world, thread)
}

/** Where an activity was not heard, marks may be missing; none is doubled. */
function checkSteps(world: World, { id, events }: Resting['thread']): void {
  const steps = new Map<string, string>()
  for (const event of events) {
    const step = event.scope?.stepId
    if (step === undefined) continue
    const mark = markOf(event)
    if (mark !== '') steps.set(step, (steps.get(step) ?? '') + mark)
  }
  const isUnheard = world.log.unheard.has(id)
  for (const [step, marks] of steps) {
    const isWrong = isUnheard ? new Set(marks).size < marks.length : marks !== 's1234567c'
    if (isWrong) world.breaks('a step has not its seven phases', `${id} ${step}: ${marks}`)
  }
}

function markOf({ type, payload }: LoggedFact): string {
  if (type === 'step.started') return 's'
  if (type === 'step.completed') return 'c'
  return type === 'step.phase' ? JSON.stringify(field(payload, 'phase')) : ''
}

function field(payload: object = {}, name: string): unknown {
  return Object.entries(payload).find(([key]) => key === name)?.[1]
}

/** The sides whose turns are told of, in order. */
function sidesOf(events: readonly LoggedFact[], type: string): string {
  return events
    .flatMap((event) => (event.type === type ? [JSON.stringify(field(event.payload, 'side'))] : []))
    .join(' ')
}

function checkRuns(world: World, { id, events, runs }: Resting['thread']): void {
  for (const [number, { ended }] of runs) {
    const own = events.filter(({ scope }) => scope?.runId === `run_${number}`)
    const started = own.filter(({ type }) => type === 'run.started').length
    const ends = own.filter(({ type }) => /^run\.(completed|failed|cancelled)$/.test(type)).length
    if (started > 1 || ends !== 1 || !ended)
      world.breaks('a run has not one beginning and one end', `${id} run ${number}: ${started}, ${ends}`)
    const [begun, over] = [sidesOf(own, 'side.started'), sidesOf(own, 'side.completed')]
    if (begun !== over)
      world.breaks('a turn has not one beginning and one end', `${id} run ${number}: ${begun}; ${over}`)
  }
  for (const type of ['thread.started', 'thread.closed']) {
    const count = events.filter((event) => event.type === type).length
    if (count > 1) world.breaks('a thread begins or ends twice', `${id} ${type}`)
  }
}
