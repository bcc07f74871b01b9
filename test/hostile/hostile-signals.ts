import { payload } from '../support/raw-messages.js'
import type { RawPayload } from '../support/raw-messages.js'
import { sendable } from './hostile-values.js'
import type { HostileChoices } from './hostile-values.js'

export interface HostileSignal {
  readonly signal: string
  readonly input: RawPayload | null
}

const LONG = 'x'.repeat(5_000)

/** A signal that is wrong in one way at least: what it brings is of no shape that its name may have. */
export function hostileSignal(random: HostileChoices): HostileSignal {
  const signal = random.pick([...Object.keys(MALFORMED), 'unknown'])
  if (signal === 'unknown') return { signal: unknownName(random), input: anyPayload(random) }
  if (random.chance(0.4)) return { signal, input: undecodable(random) }
  const value = MALFORMED[signal]?.(random)
  return { signal, input: value === undefined ? null : json(value) }
}

/** Bytes that no converter takes. */
export function undecodable(random: HostileChoices): RawPayload {
  return random.pick([
    () => payload('json/plain', cut(random)),
    () => ({ ...payload('json/plain', ''), data: random.bytes(random.below(200)) }),
    () => payload('json/plain', ''),
    () => payload(null, random.text().slice(0, 300)),
    () => payload(`binary/${random.text().slice(0, 40)}x`, 'x'),
    () => payload('json/protobuf', '{"a": 1}'),
    () => payload('binary/protobuf', 'x'),
    () => payload('JSON/PLAIN', '{}'),
    () => ({ metadata: { encoding: random.bytes(9) }, data: random.bytes(20) }),
    () => ({ metadata: { encoding: new Uint8Array() }, data: Buffer.from('{}') }),
    () => payload('json/plain', `{"content": "${'x'.repeat(100_000)}`),
  ])()
}

function anyPayload(random: HostileChoices): RawPayload | null {
  return random.pick([() => null, () => undecodable(random), () => json(random.json())])()
}

/** A valid text of JSON that ends too soon. */
function cut(random: HostileChoices): string {
  const text = JSON.stringify({ content: 'hello', messageId: 'm', runId: 'run_1', names: ['A'] })
  return text.slice(0, 1 + random.below(text.length - 1))
}

function unknownName(random: HostileChoices): string {
  const name = random.pick([
    () => `__temporal_${random.below(99)}`,
    () =>
      random.pick(['Stop', 'queue_message', '__proto__', 'constructor', 'toString', 'respond', 'snapshot']),
    () => `n${random.text().slice(0, 200)}`,
    () => 'n'.repeat(900),
    () => '',
  ])()
  // What Temporal's own protocol cannot carry never leaves the sender.
  return sendable(name).replaceAll('\0', '0')
}

export function json(value: unknown): RawPayload {
  return payload('json/plain', JSON.stringify(value) ?? 'null')
}

type Make = (random: HostileChoices) => unknown

/** No object: never what a signal takes. */
const noObject: Make = (random) => random.pick([7, -1.5, true, 'text', '', [], [[1]], ['queueMessage'], LONG])
const wrongText: Make = (random) => random.pick([7, true, [], {}, ['a'], null])
const wrongId: Make = (random) =>
  random.pick([7, {}, [], '', 'x'.repeat(97), '"'.repeat(60), 'everthread:x', '\u0000'.repeat(30)])

function oneOf(...makes: readonly Make[]): Make {
  return (random) => random.pick(makes)(random)
}

/** For each signal: inputs that it refuses. */
const MALFORMED: Readonly<Record<string, Make>> = {
  queueMessage: oneOf(
    noObject,
    () => null,
    () => undefined,
    () => ({}),
    (random) => ({ messageId: wrongId(random) }),
    (random) => ({ content: random.pick([7, [], {}, '', null, true, LONG, 'é'.repeat(2_100)]) }),
    (random) => ({ content: 'hello', role: random.pick(['system', 'tool', 7, null, {}, 'User']) }),
    (random) => ({ messageId: 'm', invocation: random.pick([7, {}, '', [], 'x'.repeat(300)]) }),
    (random) => ({ message: random.json() }),
    () => ({ content: LONG, messageId: undefined, attachments: [LONG] }),
  ),
  stop: oneOf(
    noObject,
    (random) => ({ runId: wrongText(random) }),
    (random) => ({ children: random.pick(['no', 1, null, [], {}]) }),
    () => ({ undecodable: true }),
  ),
  childReport: oneOf(
    noObject,
    () => null,
    () => undefined,
    (random) => ({ ...REPORT, reference: wrongText(random) }),
    (random) => ({ ...REPORT, report: random.pick([0, -1, 1.5, '1', null, 1e300]) }),
    (random) => ({ ...REPORT, kind: random.pick(['Result', 7, null, '', 'error']) }),
    (random) => ({
      ...REPORT,
      invocations: random.pick([null, 'c', [7], [''], [{}], Array(65).fill('c'), {}]),
    }),
    (random) => ({ ...REPORT, messageId: wrongId(random) }),
    (random) => ({ ...REPORT, closes: random.pick(['yes', 1, null, {}]) }),
  ),
  queueTool: oneOf(
    noObject,
    () => null,
    () => undefined,
    (random) => ({ toolCallId: wrongId(random), name: 'odd' }),
    (random) => ({ toolCallId: 't', name: random.pick([7, '', null, {}, 'n'.repeat(129)]) }),
  ),
  setEnv: oneOf(
    noObject,
    () => null,
    () => undefined,
    (random) => ({ names: random.pick([[], 7, 'A', null, [7], [''], ['A', null], {}, ['x'.repeat(201)]]) }),
  ),
  operations: oneOf(
    noObject,
    () => null,
    () => undefined,
    (random) => ({ operations: random.pick([7, {}, null, 'terminate', [7], [null], [[]], [{}]]) }),
    (random) => ({
      operations: [
        {
          kind: random.pick(['hand_off', 'stop_run', 'force_turn', '__proto__', 'constructor', '', 7, null]),
          agent: 'desk',
        },
      ],
    }),
    (random) => ({ operations: [{ kind: 'queue_message', id: wrongId(random), role: 'user' }] }),
    (random) => ({ operations: [{ kind: 'schedule_effect', id: 'e', dueAt: random.pick(['1', null, {}]) }] }),
    (random) => ({ operations: [{ kind: 'remove_effect', id: wrongId(random) }, { kind: 'set_env' }] }),
    () => ({ operations: Array.from({ length: 201 }, () => ({ kind: 'set_env' })) }),
  ),
}

const REPORT = {
  reference: 'stranger',
  report: 1,
  invocations: ['c'],
  kind: 'result',
  messageId: 'stranger:1',
}
