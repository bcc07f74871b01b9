import type { RawPayload } from '../support/raw-messages.js'
import { json, undecodable } from './hostile-signals.js'
import { sendable } from './hostile-values.js'
import type { HostileChoices } from './hostile-values.js'

export interface HostileUpdate {
  readonly update: string
  readonly input: RawPayload | null
}

type Make = (random: HostileChoices) => unknown

const noObject: Make = (random) => random.pick([7, true, 'text', '', [], [[1]], null, undefined])
const strangeId: Make = (random) =>
  random.pick([
    7,
    null,
    {},
    [],
    '',
    'x'.repeat(5_000),
    'approval_call_9_9_9',
    '__proto__',
    '\u0000',
    '\uFDD0',
  ])
const anyId: Make = (random) => random.pick([() => strangeId(random), () => sendable(random.text())])()

/** An update of no request that waits, or with an answer of no shape: it is refused and leaves no trace. */
export function hostileUpdate(random: HostileChoices): HostileUpdate {
  const update = random.pick(['respond', 'respond', 'removeQueued', 'unknown'])
  if (update === 'unknown')
    return {
      update: random.pick([
        'Respond',
        '__proto__',
        'constructor',
        'queueMessage',
        'n'.repeat(900),
        '',
        '__temporal_x',
      ]),
      input: json(random.json()),
    }
  if (random.chance(0.35)) return { update, input: undecodable(random) }
  const value = update === 'respond' ? respond(random) : remove(random)
  return { update, input: value === undefined ? null : json(value) }
}

const respond: Make = (random) =>
  random.pick<() => unknown>([
    () => noObject(random),
    () => ({}),
    () => ({ id: anyId(random), approved: true }),
    () => ({ id: waiting, approved: random.pick(['yes', 1, null, {}]) }),
    () => ({ id: waiting }),
    () => ({ id: waiting, approved: true, result: true }),
    // Of another kind than the request that waits.
    () => ({ id: waiting, result: true }),
    () => ({ id: waiting, names: ['A'] }),
    () => ({ id: waiting, names: random.pick([[], [7], 'A', [''], {}]) }),
    () => ({ id: anyId(random), names: ['x'.repeat(200)] }),
    () => random.json(),
  ])()

/** The one request of a thread that waits for a person. */
const waiting = 'approval_call_1_1_0'

const remove: Make = (random) =>
  random.pick<() => unknown>([
    () => noObject(random),
    () => ({}),
    () => ({ id: strangeId(random) }),
    () => ({ id: 'everthread:item:99' }),
    () => ({ id: sendable(random.text()) }),
    () => random.json(),
  ])()
