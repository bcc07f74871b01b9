import { afterAll, beforeAll, expect, test } from 'vitest'
import { messageLines } from '../../../src/cli/inspect.js'
import { ThreadClient } from '../../../src/client/index.js'
import type { Message } from '../../../src/index.js'
import { fact } from '../../../src/protocol/facts.js'
import { appendEvents } from '../../../src/store/events.js'
import { openStore } from '../../../src/store/open-store.js'
import type { Store } from '../../../src/store/store.js'
import { insertThread } from '../../../src/store/threads/threads.js'
import { addChildRows } from '../../support/child-rows.js'
import { until } from '../../support/until.js'
import { openCliPlace, openScreen } from './cli-place.js'
import type { CliPlace } from './cli-place.js'

let place: CliPlace
let store: Store

/** A closed root, a child that waits for a person, one that ended with its own child, one that was not started yet. */
beforeAll(async () => {
  place = await openCliPlace()
  store = await openStore()
  const thread = { closed_at: 9, status: 'completed' }
  await store.write((tx) => insertThread(tx, { id: 'root', agent: 'support', created_at: 1, ...thread }))
  const below = { root: 'root', parent: 'root' }
  const waiting = { status: 'waiting_permission' }
  await addChildRows(store, {
    ...below,
    id: 'c-1',
    createdAt: 2,
    thread: waiting,
    entry: { status: 'half way' },
  })
  await addChildRows(store, { ...below, id: 'c-2', createdAt: 3, thread, entry: { status: 'completed' } })
  const unnamed = { thread_name: null, status: 'failed' }
  const failed = { id: 'g-1', root: 'root', parent: 'c-2', createdAt: 4, thread, entry: unnamed }
  await addChildRows(store, failed)
  await addChildRows(store, { ...below, id: 'c-3', createdAt: 5, entry: { status: 'deferred' } })
})
afterAll(async () => {
  await store.close()
  await place.close()
})

test('inspect shows all threads below a closed one', async () => {
  const screen = openScreen()
  expect(await screen.run('inspect', 'root')).toBe(0)
  expect(screen.shown).toContain(
    [
      'Children',
      '  c-1 research "of c-1": half way, open (waiting_permission)',
      '  c-2 research "of c-2": completed, closed',
      '    g-1 research: failed, closed',
      '  c-3 research "of c-3": deferred, open',
      '',
    ].join('\n'),
  )
  expect(screen.shown).not.toContain('child of')
  screen.close()
})

test('inspect names the parent and the root of a child', async () => {
  const screen = openScreen()
  expect(await screen.run('inspect', 'g-1')).toBe(0)
  expect(screen.shown).toContain(', child of c-2, root root\n')
  expect(screen.shown).not.toContain('Children')
  screen.close()
})

test('inspect shows each file, and with --events what happened', async () => {
  const threads = new ThreadClient()
  const thread = threads.get('c-2-open')
  await addChildRows(store, { id: 'c-2-open', root: 'root', parent: 'c-1', createdAt: 9 })
  await thread.writeFile('/notes/plan.md', '# Plan', 'text/markdown')
  const payload = { code: 'immediate_skipped', message: 'It has no arguments.' } as const
  const event = fact('runtime.warning', payload)
  await store.write((tx) => appendEvents(tx, { threadId: 'c-2-open', events: [event], now: 6 }))
  await threads.close()
  const screen = openScreen()
  expect(await screen.run('inspect', 'c-2-open')).toBe(0)
  expect(screen.shown).toContain('Files\n  /notes/plan.md, text/markdown, 6 bytes\n')
  expect(screen.shown).not.toContain('immediate_skipped')
  expect(await screen.run('inspect', 'c-2-open', '--events')).toBe(0)
  expect(screen.shown).toContain(
    'runtime.warning {"code":"immediate_skipped","message":"It has no arguments."}',
  )
  screen.close()
})

test('a line of a message is never taken for a row', () => {
  const message = { position: 3, role: 'user', content: 'one\n  12 user: two', name: null, depth: 0 }
  const more = { silent: false, status: 'completed', tool_calls: null, attachments: [] }
  expect(messageLines({ ...message, ...more } as unknown as Message)).toEqual([
    '   3 user: one',
    '         12 user: two',
  ])
})

test('inspect --follow shows what befalls subagents', async () => {
  const screen = openScreen()
  const ended = screen.run('inspect', 'c-1', '--follow')
  await until('the events', async () => screen.shown.includes('Events (Ctrl-C ends)'))
  await addChildRows(store, { id: 'g-2', root: 'root', parent: 'c-1', entry: { status: 'nearly there' } })
  const payload = { reference: 'g-2', name: 'research' }
  const event = fact('subagent.status', payload, { childId: 'g-2' })
  await store.write((tx) => appendEvents(tx, { threadId: 'c-1', events: [event], now: 6 }))
  await until('the status', async () => screen.shown.includes('subagent.status'))
  screen.interrupt()
  expect(await ended).toBe(0)
  for (const words of ['"g-2"', '"of g-2"', '"nearly there"']) expect(screen.shown).toContain(words)
  screen.close()
})
