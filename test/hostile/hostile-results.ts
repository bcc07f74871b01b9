import type { ThreadState } from '../../src/index.js'
import { marked } from '../support/marker.js'
import { hostilePath } from './hostile-files.js'
import { TRAP } from './hostile-values.js'
import type { HostileChoices } from './hostile-values.js'

/** What a tool of somebody's does in place of a sound answer. */
export type HostileTool = (state: ThreadState) => unknown

const success = { status: 'success' } as const

/** One call of a tool that answers, throws, or treats its thread wrongly. */
export function hostileTool(random: HostileChoices): HostileTool {
  const word = marked(random.text())
  const odd = (): unknown => random.anything()
  return random.pick<() => HostileTool>(
    [
      // Answers.
      odd,
      () => ({ status: odd() }),
      () => ({ ...success, result: odd() }),
      () => ({ ...success, result: word }),
      () => ({ ...success, result: { [random.text()]: word, deep: random.json() } }),
      () => ({ ...success, result: marked('x'.repeat(random.pick([70_000, 3_000_000]))) }),
      () => ({ ...success, result: Array.from({ length: 50_000 }, () => 'item') }),
      () => ({ status: 'error', error: odd(), error_code: odd() }),
      () => ({ status: 'error', error: word, error_code: random.text() }),
      () => ({ status: 'error', error: marked('e'.repeat(500_000)) }),
      () => ({ ...success, content: odd() }),
      () => ({ ...success, content: [{ type: 'text', text: odd() }, odd()] }),
      () => ({ ...success, content: [{ type: 'file', file: odd() }] }),
      () => ({ ...success, content: [{ type: 'text', text: word }], result: odd() }),
      () => ({ ...success, attachments: odd() }),
      () => ({ ...success, attachments: [odd()] }),
      () => ({ ...success, attachments: [{ path: hostilePath(random) }] }),
      () => ({
        ...success,
        attachments: [{ name: hostilePath(random), mimeType: random.text(), data: odd() }],
      }),
      () => ({
        ...success,
        attachments: [{ name: random.text(), mimeType: 'text/plain', data: '!not base64!' }],
      }),
      () => getter('status'),
      () => getter('result'),
      () => getter('attachments'),
      () => ({
        get status() {
          return 'success'
        },
        get result() {
          return this
        },
      }),
      () => new Proxy(success, { get: thrower, has: thrower }),
      // oxlint-disable-next-line unicorn/no-thenable -- what is awaited may be anything that has one
      () => ({ then: (resolve: (value: unknown) => void) => (resolve(odd()), resolve(success), thrower()) }),
      () => Promise.resolve(Promise.resolve({ ...success, result: odd() })),
      // Throws.
      () => {
        throw odd()
      },
      () => Promise.reject(odd()),
      () => Promise.reject(new Error(word)),
      () => Promise.reject(Object.defineProperty(new Error('x'), 'message', { get: thrower })),
      () => Promise.reject(new Error(marked('m'.repeat(1_000_000)))),
      // Never answers.
      () => new Promise(() => undefined),
    ].map((make) => () => misuses(random, () => make())),
  )()
}

/** Some of them treat the state of their thread wrongly as well. */
function misuses(random: HostileChoices, answer: () => unknown): HostileTool {
  if (random.chance(0.6)) return () => answer()
  const odd = (): never => random.anything() as never
  const use = random.pick<(state: ThreadState) => unknown>([
    (state) => state.setValue(random.text(), odd()),
    (state) => state.setValue(odd(), 'x'),
    (state) => state.queueMessage({ role: 'user', content: odd() }),
    (state) => state.queueMessage(odd()),
    (state) => state.injectMessage(odd()),
    (state) => state.injectMessage({ role: 'assistant', content: odd() }),
    (state) => state.updateMessage(odd(), odd()),
    (state) => state.deleteMessage(odd()),
    (state) => state.getMessages(odd()),
    (state) => state.queueTool(odd(), odd()),
    (state) => state.queueTool('odd', { kind: odd() }),
    (state) => state.scheduleEffect(odd(), odd(), odd()),
    (state) => state.scheduleEffect('nothing', {}, random.pick([-1, Number.NaN, Infinity, 1e300])),
    (state) => state.removeScheduledEffect(odd()),
    (state) => state.setEnv(random.text(), odd()),
    (state) => state.setStatus(odd()),
    (state) => state.notifyParent(odd()),
    (state) => state.emit(random.text(), odd()),
    (state) => state.invokeTool(odd(), odd()),
    (state) => state.writeFile(hostilePath(random), odd(), 'text/plain'),
    (state) => state.writeFile(hostilePath(random), 'x', random.text()),
    (state) => state.writeFile('/kept.txt', 'x', 'text/plain', { metadata: odd() }),
    (state) => state.readFile(odd()),
    (state) => state.mkdirFile(hostilePath(random)),
    (state) => state.findFiles(random.text()),
    (state) => state.grepFiles(random.text()),
    (state) => state.getChildThread(odd()),
    (state) => void (state.context[random.text()] = odd()),
    (state) => state.execution?.forceTurn(odd()),
  ])
  return async (state) => {
    const passed = await Promise.resolve()
      .then(() => use(state))
      .catch(() => undefined)
    return passed === 'never' ? passed : answer()
  }
}

function getter(name: string): object {
  return Object.defineProperty({ ...success }, name, { enumerable: true, get: thrower })
}

function thrower(): never {
  throw new Error(TRAP)
}
