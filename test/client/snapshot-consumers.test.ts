/** What a thread does now is in its snapshot, for everybody who shows it: where the rows say something else, too. */
import { PassThrough } from 'node:stream'
import { beforeEach, expect, test } from 'vitest'
import { chat } from '../../src/cli/chat.js'
import { inspect } from '../../src/cli/inspect.js'
import { openTerminal } from '../../src/cli/terminal.js'
import type { Command } from '../../src/cli/terminal.js'
import type { ThreadHandle } from '../../src/client/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { servedFixture } from './client-fixture.js'
import { askRequest } from './request-rows.js'

const token = 'token-of-an-operator'
const fixture = servedFixture()
let thread: ThreadHandle

/** A thread that a worker was running: its rows say so from now on. */
beforeEach(async () => {
  thread = await fixture.threads.create({ agent: 'support', id: 't', message: 'Hello' })
  await fixture.store.write(async (tx) => {
    await insertRun(tx, { thread_id: 't', number: 1, trigger_kind: 'message', started_at: 1 })
    await updateThread(tx, 't', { status: 'running' })
  })
  await askRequest(fixture.store, { thread: 't' })
})

test('AR-SS.4 a thread that Temporal has ended is lost to all who show it, whatever its row says', async () => {
  // Rows alone say that the thread waits for the answer that is still asked for.
  const row = { threadId: 't', status: 'waiting_permission' }
  const open = { pending: [{ id: 'approval_call_1_1_0' }], queue: [{ kind: 'message' }] }
  expect(await thread.snapshot()).toMatchObject({ ...open, status: 'waiting_permission' })
  expect(await overHttp()).toEqual(await thread.snapshot())
  expect(await shown(inspect, ['t'])).toMatch(
    /^Thread t: agent support, waiting_permission \(as recorded.*Waiting for an answer\n {2}approval_call_1_1_0.*Queue\n {2}message/s,
  )
  await thread.workflow.terminate()
  const lost = await thread.snapshot()
  expect(lost).toMatchObject({ ...open, status: 'lost' })
  expect(await overHttp()).toEqual(lost)
  expect(await shown(inspect, ['t'])).toContain('Thread t: agent support, lost')
  expect(await fixture.threads.find('t')).toMatchObject(row)
})

test('AR-SS.4 the chat of a thread asks its snapshot whether anybody answers', async () => {
  const nobody = '(No worker has answered yet'
  // A run that nobody answers for, so that the chat goes on with it before it asks for a message.
  expect(await shown(chat, ['support'], { thread: 't' })).toMatch(
    /No worker has answered yet.*refund_order.*you: /s,
  )
  await fixture.threads.create({ agent: 'support', id: 'idle' })
  await fixture.store.write((tx) => updateThread(tx, 'idle', { status: 'running' }))
  expect(await shown(chat, ['support'], { thread: 'idle' })).not.toContain(nobody)
})

async function overHttp(): Promise<unknown> {
  const app = createThreadApp({ client: fixture.threads, tokens: [{ token }], log: () => undefined })
  const response = await app.request('/threads/t/snapshot', { headers: { authorization: `Bearer ${token}` } })
  return response.json()
}

/** What a command shows whose input ends at once. */
async function shown(
  command: Command,
  given: readonly string[],
  flags: Readonly<Record<string, string>> = {},
): Promise<string> {
  const output = new PassThrough()
  const input = new PassThrough()
  const terminal = openTerminal({ input, output, problems: new PassThrough() })
  input.end()
  await command.run({ threads: fixture.threads, terminal }, { arguments: given, flags })
  terminal.close()
  return String(output.read())
}
