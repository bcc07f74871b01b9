/**
 * The work that a call starts besides its answer: scheduled effects, queued tool calls and custom events.
 *
 * Invariants:
 * K1: effects and tool calls are committed with the call's outcome (T9), and their ids are the same in each attempt.
 * K2: events are stored at once, whatever the outcome of the call; an unavailable store does not fail the call.
 */
import { createHash } from 'node:crypto'
import { findTool } from '../../definitions/plan/listed-tools.js'
import type { ScheduledEffect, ThreadState } from '../../definitions/thread-state.js'
import { UNKNOWN_TOOL } from '../../protocol/activities.js'
import { MessageRejectedError } from '../../protocol/errors.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { JsonObject } from '../../protocol/values.js'
import { appendEvents } from '../../store/events.js'
import { appendQueuedTool, stageQueuedTool } from '../../store/messages/queued-tools.js'
import { appendToolInvocation } from '../../store/messages/status-line.js'
import type { Writer } from '../../store/store.js'
import { endEffect, insertEffect, listScheduledEffects } from '../../store/threads/effects.js'
import type { ActivityDependencies } from '../activity.js'
import { boundedId, createTurns, scopeOf, senderOf, warnQueueFull, rulesBroughtBy } from './journal.js'
import type { Journal, StateOrigin, Written } from './journal.js'
import { jsonCopy, jsonObjectCopy, kindOf } from './strict-json.js'
import type { Micros } from '../../protocol/time.js'
import { toMicros, toMillisAfter } from '../../protocol/time.js'

/** A custom event is written while the call runs, for live clients. */
export const CUSTOM_EVENT_BYTES = 16 * 1024

/** A tool that emits more floods the log of its thread. */
export const CUSTOM_EVENTS_BY_CALL = 1000
export const EFFECT_ARGUMENT_BYTES = 64 * 1024

type EffectMembers = Pick<ThreadState, 'scheduleEffect' | 'getScheduledEffects' | 'removeScheduledEffect'>

/** The work that one call starts for its thread. */
interface WorkOverlay {
  readonly members: EffectMembers & Pick<ThreadState, 'queueTool' | 'emit'>
  /** Waits until all events of `emit` are stored or their write has failed. */
  readonly waitForWork: () => Promise<void>
}

interface WorkOptions {
  readonly dependencies: ActivityDependencies
  readonly threadId: string
  readonly journal: Journal
  readonly origin: StateOrigin
  readonly now: Micros
}

export function createWorkOverlay(options: WorkOptions): WorkOverlay {
  const { emit, waitForWork } = createEmitter(options)
  return {
    members: { ...createEffectMembers(options), queueTool: createQueueTool(options), emit },
    waitForWork,
  }
}

/** The scheduled effects of a thread as one call sees them. */
function createEffectMembers(options: WorkOptions): EffectMembers {
  const { threadId, origin, now } = options
  const { registry } = options.dependencies
  const effects = createBufferedEffects(options)
  const opened = performance.now()
  const inTurn = createTurns()
  let made = 0

  /** Makes a digest, so that ids do not grow when each effect schedules the next one for years. */
  function nextId(): string {
    const digest = createHash('sha256').update(JSON.stringify([threadId, origin.id, made++]))
    return `effect_${digest.digest('hex').slice(0, 20)}`
  }

  async function schedule(name: string, args: unknown, delay: number): Promise<string> {
    if (registry.effect(name) === undefined)
      throw new Error(`Expected the name of a registered effect, got "${String(name)}", which is none.`)
    const given = effectArguments(name, args)
    assertDelay(delay)
    if ((await effects.current()).length >= LIMITS.effects)
      throw new Error(
        `Expected at most ${LIMITS.effects} scheduled effects of a thread, got another one: remove some.`,
      )
    // The delay begins now, although the call may have run for minutes.
    const start = now + toMicros(Math.round(performance.now() - opened))
    const id = nextId()
    effects.schedule({
      id,
      name,
      args: given,
      scheduledAt: start + toMicros(Math.ceil(delay)),
      createdAt: now,
    })
    return id
  }

  return {
    scheduleEffect: (name, args, delay = 0) => inTurn(() => schedule(name, args, delay)),
    getScheduledEffects: async (name) =>
      (await effects.current())
        .filter((effect) => name === undefined || effect.name === name)
        .map((effect) => structuredClone(effect)),
    removeScheduledEffect: (id) =>
      inTurn(async () => {
        const found = (await effects.current()).find((effect) => effect.id === id)
        if (found !== undefined) effects.remove(found)
        return found !== undefined
      }),
  }
}

/** Copies the arguments as JSON. The effect's schema checks them when it runs, since the code may change until then. */
function effectArguments(name: string, args: unknown): JsonObject {
  const copy = jsonObjectCopy(args, `the arguments of the effect "${name}"`)
  const bytes = Buffer.byteLength(JSON.stringify(copy))
  if (bytes <= EFFECT_ARGUMENT_BYTES) return copy
  throw new Error(
    `Expected the arguments of the effect "${name}" to have at most ${EFFECT_ARGUMENT_BYTES} bytes, got ${bytes}: ` +
      'write them to a file.',
  )
}

function assertDelay(delay: unknown): void {
  if (typeof delay === 'number' && delay >= 0 && delay <= LIMITS.effectDelay) return
  const came = typeof delay === 'number' ? String(delay) : kindOf(delay)
  throw new Error(`Expected a delay of 0 to ${LIMITS.effectDelay} milliseconds, got ${came}.`)
}

/** The effects of a thread with what one call has scheduled and removed. */
interface BufferedEffects {
  /** By time, the next one first. */
  readonly current: () => Promise<readonly ScheduledEffect[]>
  readonly schedule: (effect: ScheduledEffect) => void
  readonly remove: (effect: ScheduledEffect) => void
}

function createBufferedEffects(options: WorkOptions): BufferedEffects {
  const { threadId, journal, origin, now } = options
  const { store } = options.dependencies
  const added = new Map<string, ScheduledEffect>()
  // A running effect does not see itself as scheduled.
  const removed = new Set(origin.kind === 'effect' ? [origin.id] : [])

  return {
    async current() {
      const rows = await store.read((db) => listScheduledEffects(db, threadId))
      const stored = rows
        .filter(({ id }) => !removed.has(id))
        .map(({ due_at: scheduledAt, created_at: createdAt, id, name, args }) => {
          return { id, name, args, scheduledAt, createdAt }
        })
      return [...stored, ...added.values()].toSorted((one, other) => one.scheduledAt - other.scheduledAt)
    },
    schedule(effect) {
      const { id, name, args, scheduledAt, createdAt } = effect
      journal.add(async (tx) => {
        if (!added.has(id)) return {}
        const row = { thread_id: threadId, id, name, args, due_at: scheduledAt, created_at: createdAt }
        if (!(await insertEffect(tx, row))) return {}
        return {
          operations: [{ kind: 'schedule_effect', id, dueAt: toMillisAfter(scheduledAt) }],
          events: [fact('effect.scheduled', { effectId: id, name, time: scheduledAt }, scopeOf(origin))],
        }
      })
      added.set(id, effect)
    },
    remove({ id, name }) {
      if (added.delete(id)) return
      journal.add(async (tx) => {
        if ((await endEffect(tx, { threadId, id, status: 'removed', now })) === null) return {}
        return {
          operations: [{ kind: 'remove_effect', id }],
          events: [fact('effect.removed', { effectId: id, name }, scopeOf(origin))],
        }
      })
      removed.add(id)
    },
  }
}

/** Creates the member that queues tool calls: behind those of the step, or, outside of a step, as items of the queue. */
function createQueueTool(options: WorkOptions): ThreadState['queueTool'] {
  const { journal, origin } = options
  let made = 0
  return (name, args) => {
    const called = checkToolName(name)
    const given = jsonObjectCopy(args, `the arguments of the tool "${called}"`)
    if (made >= LIMITS.queuedByCall)
      throw new Error(`Expected at most ${LIMITS.queuedByCall} queued tools of one call, got another one.`)
    const toolCallId = boundedId(`${origin.id}_q${made}`)
    journal.add((tx) => commitTool(tx, options, { toolCallId, name: called, args: given }))
    made += 1
  }
}

interface GivenTool {
  readonly toolCallId: string
  readonly name: string
  readonly args: JsonObject
}

async function commitTool(
  tx: Writer,
  { dependencies, threadId, origin, now }: WorkOptions,
  given: GivenTool,
): Promise<Written> {
  const tool = { ...given, threadId, now, sentBy: senderOf(origin) }
  // An unknown name may be any text of the caller, which must not reach the workflow's history (T5).
  const known = findTool(dependencies.registry, given.name) !== undefined
  const operation = {
    kind: 'queue_tool',
    id: given.toolCallId,
    name: known ? given.name : UNKNOWN_TOOL,
  } as const
  const { run, step, side } = origin
  if (run === null || step === null || side === null) {
    const staged = await stageQueuedTool(tx, { ...tool, brings: rulesBroughtBy(origin, threadId) })
    // The caller of an endpoint gets an error. Elsewhere the warning is an event.
    if (staged === 'queue_full' && origin.kind === 'endpoint')
      throw new MessageRejectedError(
        threadId,
        `Expected at most ${LIMITS.queuedItems} queued items, got another tool: wait until some are delivered.`,
      )
    if (staged === 'staged') return { operations: [operation] }
    return staged === 'queue_full' ? { events: [warnQueueFull(origin)] } : {}
  }
  const scope = scopeOf(origin)
  const { toolCallId, name } = given
  const status = await appendToolInvocation(tx, { threadId, run, step, scope, now, tool: name, toolCallId })
  const messageId = await appendQueuedTool(tx, tool, { run, step, side })
  const role = side === 'a' ? 'assistant' : 'user'
  const created = fact('message.created', { role }, { ...scope, messageId })
  return { operations: [operation], events: [status, created] }
}

/** Checks only the name's shape: `executeTool` returns an error result for an unknown tool. */
function checkToolName(name: unknown): string {
  if (typeof name === 'string' && name.length > 0 && name.length <= LIMITS.nameLength) return name
  const came = typeof name === 'string' ? `one of ${name.length}` : kindOf(name)
  throw new Error(
    `Expected the name of a tool to be a text of 1 to ${LIMITS.nameLength} characters, got ${came}.`,
  )
}

/** Creates the member that emits custom events, which are stored while the call runs (K2). */
function createEmitter({
  dependencies: { store },
  threadId,
  origin,
  now,
}: WorkOptions): Pick<ThreadState, 'emit'> & Pick<WorkOverlay, 'waitForWork'> {
  let waiting: Fact[] = []
  let emitted = 0
  let writing: Promise<void> | undefined

  /** Events that arrive during a transaction share the next one. */
  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const events = waiting
      waiting = []
      // A failed write of events does not fail the call (K2).
      await store.write((tx) => appendEvents(tx, { threadId, events, now })).catch(() => undefined)
    }
    writing = undefined
  }

  return {
    emit(event, data) {
      const payload = { name: checkEventName(event), data: jsonCopy(data, `the data of "${event}"`) }
      const bytes = Buffer.byteLength(JSON.stringify(payload))
      if (bytes > CUSTOM_EVENT_BYTES)
        throw new Error(
          `Expected an event of at most ${CUSTOM_EVENT_BYTES} bytes, got "${event}" of ${bytes}: write a file.`,
        )
      if (emitted >= CUSTOM_EVENTS_BY_CALL)
        throw new Error(`Expected at most ${CUSTOM_EVENTS_BY_CALL} events of one call, got another one.`)
      emitted += 1
      waiting.push(fact('custom', payload, scopeOf(origin)))
      writing ??= write()
    },
    waitForWork: async () => writing,
  }
}

function checkEventName(name: unknown): string {
  if (typeof name === 'string' && name.length > 0 && name.length <= LIMITS.nameLength) return name
  const came = typeof name === 'string' ? `one of ${name.length}` : kindOf(name)
  throw new Error(
    `Expected the name of an event to be a text of 1 to ${LIMITS.nameLength} characters, got ${came}.`,
  )
}
