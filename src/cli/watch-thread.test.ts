import { expect, test } from 'vitest'
import type { ThreadEvent, ThreadHandle } from '../client/index.js'
import { watchThread } from './watch-thread.js'

test('text is shown once, and anew where another attempt replaces it', async () => {
  const { shown } = await watch([
    delta(1, 0, 'Good '),
    delta(1, 3, 'd morning'),
    delta(1, 0, 'Good '),
    delta(2, 0, 'Hello'),
    created('Hello there', 1),
  ])
  expect(shown()).toBe('\nGood morning\n(again)\nHello there\n')
})

test('what is silent or nested is not shown', async () => {
  const { shown } = await watch([
    created('for the model', 1, { silent: true }),
    created('a frame', 2, { depth: 1 }),
  ])
  expect(shown()).toBe('')
})

test('waitUntilShown() waits for its sequence, and a run is running until it ends', async () => {
  const { view } = await watch([event('run.started', 1), event('step.phase', 2)])
  expect(view.running).toBe(true)
  const states: string[] = []
  void view.waitUntilShown(3).then(() => states.push('3'))
  await view.waitUntilShown(2)
  await turn()
  expect(states).toEqual([])
  const other = await watch([event('run.started', 1), event('run.failed', 3, { reason: 'stop_limit' })])
  expect(other.view.running).toBe(false)
  expect(other.shown()).toBe('  (ended: stop_limit)\n')
})

test('events that cannot be read break the watch', async () => {
  const { view } = await watch([new Error('no store')])
  await expect(view.broken).rejects.toThrow('no store')
})

/** Watches a thread that has these events, then waits for more. */
async function watch(events: readonly (ThreadEvent | Error)[]) {
  let shown = ''
  const screen = {
    write: (text: string) => void (shown += text),
    line: (text = '') => void (shown += `${text}\n`),
  }
  const prompt = { screen, ask: () => Promise.resolve(null), repeat: () => undefined }
  const thread: Partial<ThreadHandle> = {
    async *events() {
      for (const one of events) {
        if (one instanceof Error) throw one
        yield one
      }
      await new Promise(() => undefined)
    },
  }
  const view = watchThread(thread as ThreadHandle, 0, prompt)
  await turn()
  return { view, shown: () => shown }
}

function event(type: ThreadEvent['type'], sequence: number | undefined, payload: object = {}): ThreadEvent {
  return { type, sequence, messageId: 'm', payload } as unknown as ThreadEvent
}

function delta(attempt: number, offset: number, text: string): ThreadEvent {
  return event('model.delta', undefined, { attempt, offset, text })
}

function created(content: string, sequence: number, more: object = {}): ThreadEvent {
  const message = { role: 'assistant', content, silent: false, depth: 0, attachments: [], ...more }
  return event('message.created', sequence, { message })
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
