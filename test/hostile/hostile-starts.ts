import type { RawPayload } from '../support/raw-messages.js'
import { json, undecodable } from './hostile-signals.js'
import type { HostileChoices } from './hostile-values.js'

type Make = (random: HostileChoices) => unknown

/** A start input that is wrong in one way at least. */
export function hostileStart(random: HostileChoices): RawPayload | null {
  if (random.chance(0.3)) return undecodable(random)
  const value = random.pick(MALFORMED)(random)
  return value === undefined ? null : json(value)
}

const start = { agent: 'desk' }
const wrongName: Make = (random) => random.pick([7, '', null, {}, [], true, 'x'.repeat(201)])

const MALFORMED: readonly Make[] = [
  (random) => random.pick([undefined, null, 7, 'desk', [], true, [start]]),
  () => ({}),
  (random) => ({ agent: wrongName(random) }),
  (random) => ({
    ...start,
    message: random.pick([7, null, 'hello', {}, [], { content: '' }, { messageId: 7 }]),
  }),
  (random) => ({ ...start, userId: wrongName(random) }),
  (random) => ({ ...start, tags: random.pick([7, 'tag', {}, [7], [''], null, Array(33).fill('t')]) }),
  (random) => ({
    ...start,
    searchAttributes: random.pick([7, 'ThreadAgent', [7], [null], {}, Array(33).fill('A')]),
  }),
  (random) => ({
    ...start,
    limits: random.pick([7, null, 'fast', [], { heartbeatTimeout: 1 }, { historyEvents: -1 }]),
  }),
  (random) => ({ ...start, limits: { heartbeatTimeout: random.pick(['30s', 1e12, 1.5, null, {}]) } }),
  (random) => ({
    ...start,
    parent: random.pick([7, {}, [], null, { threadId: 'x' }, { threadId: '', callId: 'c' }]),
  }),
  (random) => ({ ...start, parent: { threadId: 'x', callId: 'c', root: wrongName(random) } }),
  (random) => ({ ...start, reopened: random.pick([7, [], 'x', { runs: 'many' }, { runs: -1 }]) }),
]

/** Options of `threads.create` that are wrong, or what JavaScript can bring in their place. */
export function hostileCreation(random: HostileChoices): unknown {
  return random.pick<() => unknown>([
    () => ({ agent: random.pick([7, '', null, undefined, {}, 'x'.repeat(201)]) }),
    () => ({ ...start, id: random.pick([7, '', null, 'everthread:x', 'x'.repeat(201), {}]) }),
    () => ({ ...start, message: random.pick([7, null, {}, [], { content: 7 }, { content: '' }]) }),
    () => ({ ...start, message: { content: 'x', id: random.pick([7, '', 'everthread:x', 'x'.repeat(97)]) } }),
    () => ({ ...start, message: { content: 'x', role: random.pick(['system', 7, null]) } }),
    () => ({ ...start, message: { content: 'x', metadata: random.pick([7, [], 'x', { big: 7n }]) } }),
    () => ({ ...start, message: { content: 'x'.repeat(1024 * 1024 + 1) } }),
    () => ({ ...start, message: { attachments: [random.pick([7, null, {}, { name: 'a' }, '../a', 'a'])] } }),
    () => ({ ...start, title: random.pick([7, {}, 'x'.repeat(501)]) }),
    () => ({ ...start, tags: random.pick([7, 'tag', [7], ['']]) }),
    () => ({ ...start, account: random.pick([7, '', {}]) }),
    () => ({ ...start, env: random.pick([7, { A: 7 }, { '': 'x' }, [], { A: 'x'.repeat(70_000) }]) }),
    () => ({ ...start, limits: random.pick([7, { heartbeatTimeout: 'soon' }]) }),
  ])()
}
