import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { BufferedState } from '../../src/activities/thread-state/buffered-state.js'
import { defineEffect, defineTool, registry } from '../../src/index.js'
import type { ThreadState } from '../../src/index.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { scriptedModel } from '../../src/testing/index.js'
import { withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { withThread } from './buffered-call.js'
import type { TestThread } from './buffered-call.js'
import type { DeskParts } from './desk-registry.js'
import { rows } from './stored-rows.js'
import { lastResult } from './tool-outcomes.js'

const SECRET = 'nightingale-"1"'
const SHOWN = '[secret API_KEY]'
const env = { API_KEY: SECRET, SHORT: 'short' }

/** What became of the tool `work`. */
async function worked(work: NonNullable<DeskParts['work']>, look: (desk: ActivityDesk) => Promise<void>) {
  await withDesk({ work }, async (desk) => {
    await desk.run(await desk.call('work'), { ...desk.dependencies, env })
    expect(await rows(desk)).not.toContain('nightingale')
    await look(desk)
  })
}

test('KP-04.3 a tool calls with its credential, and nothing stored has it', async () => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ headers }, response) => {
    asked.push(headers.authorization)
    response.end(`seen ${headers.authorization}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const call: DeskParts['work'] = async (state) => {
    const headers = { authorization: `Bearer ${await state.env('API_KEY')}` }
    const response = await fetch(`http://127.0.0.1:${port}`, { headers })
    return { status: 'success', result: await response.text() }
  }
  await worked(call, async (desk) => {
    expect(asked).toEqual([`Bearer ${SECRET}`])
    expect((await lastResult(desk))?.content).toBe(`seen Bearer ${SHOWN}`)
  })
})

describe('what a tool answers', () => {
  test('T5 has no secret, however it is nested', () =>
    worked(
      async (state) => ({
        status: 'success',
        result: { body: JSON.stringify({ key: await state.env('API_KEY') }) },
      }),
      async (desk) => {
        expect((await lastResult(desk))?.content).toBe(
          JSON.stringify({ body: JSON.stringify({ key: SHOWN }) }),
        )
      },
    ))

  test('T5 has none in an error, its code and its files', () =>
    worked(
      async (state) => {
        const key = await state.env('API_KEY')
        const file = { name: `${key}.txt`, data: 'aGk=', mimeType: 'text/plain' }
        return { status: 'error', error: `refused ${key}`, error_code: `no ${key}`, attachments: [file] }
      },
      async (desk) => {
        const result = await lastResult(desk)
        expect(result).toMatchObject({ content: `Error: refused ${SHOWN}`, tool_status: 'error' })
        expect(result?.attachments[0]?.name).toContain('[secret')
        const call = await desk.store.read((db) => findToolCall(db, 't', result?.tool_call_id ?? ''))
        expect(call?.error_code).toBe(`no ${SHOWN}`)
      },
    ))

  test('T5 has none in a text that becomes a file', () =>
    worked(
      async (state) => ({ status: 'success', result: `${'x'.repeat(70_000)}${await state.env('API_KEY')}` }),
      async (desk) => {
        const file = await desk.store.read((db) =>
          db.selectFrom('files').select('blob').where('path', 'like', '/results/%').executeTakeFirstOrThrow(),
        )
        const bytes = await desk.store.blobs.read(file.blob ?? '')
        expect(Buffer.from(bytes ?? []).toString()).toMatch(/x\[secret API_KEY\]$/)
      },
    ))

  test('T5 has none where it throws', () =>
    worked(
      async (state) => {
        throw new Error(`refused ${await state.env('API_KEY')}`)
      },
      async (desk) => expect((await lastResult(desk))?.content).toBe(`Error: refused ${SHOWN}`),
    ))

  test('keeps a value that is too short to be told from words', () =>
    worked(
      async (state) => ({ status: 'success', result: `in ${await state.env('SHORT')}` }),
      async (desk) => expect((await lastResult(desk))?.content).toBe('in short'),
    ))
})

const worker = registry({
  ...{ agents: [], prompts: [], models: [] },
  tools: { notify: defineTool({ description: 'Notifies', execute: () => ({ status: 'success' }) }) },
  effects: { remind: defineEffect('Reminds', z.object({ of: z.array(z.string()) }), () => undefined) },
})

/** Hands the secret to every member that keeps texts. */
async function writeEverything(state: ThreadState): Promise<void> {
  const key = await state.env('API_KEY')
  await state.injectMessage({ role: 'user', content: `one ${key}`, metadata: { of: [key] } })
  await state.queueMessage({ role: 'user', content: `two ${key}`, metadata: { of: [key] } })
  await state.updateMessage('old', { content: `three ${key}` })
  state.emit('song', { of: [key] })
  await state.setValue(`by ${key}`, { of: [key] })
  await state.scheduleEffect('remind', { of: [key] }, 1000)
  state.queueTool('notify', { of: [key] })
  state.context['of'] = [key]
  await state.writeFile(`/${key}.txt`, key, 'text/plain', { metadata: { of: key } })
  await state.setEnv('COPY', key, { type: 'text' })
}

describe('what a tool does to its thread', () => {
  const parts = { registry: worker, env }

  const withWritten = (work: (thread: TestThread, call: BufferedState) => Promise<void>) =>
    withThread(async (thread) => {
      const old = { id: 'old', threadId: 't', role: 'user', content: 'old' } as const
      await thread.store.write((tx) => appendMessage(tx, { ...old, createdAt: 1, sentBy: 'client' }))
      const call = await thread.open()
      await writeEverything(call.state)
      await work(thread, call)
    }, parts)

  test('T5 holds no secret in any row', () =>
    withWritten(async (thread, call) => {
      const { messages } = await call.state.getMessages()
      const contents = messages.map(({ content }) => content)
      expect(contents).toEqual([`three ${SHOWN}`, `one ${SHOWN}`, `two ${SHOWN}`])
      await call.waitForWork()
      await thread.commit(call)
      const stored = await rows(thread)
      expect(stored).not.toContain('nightingale')
      // Three messages, two metadata, event, key, value, effect, call and its row, context, path and name, metadata, copy.
      expect(stored.split(SHOWN).length - 1).toBeGreaterThanOrEqual(14)
    }))

  test('is found again by what it was called', () =>
    withWritten(async (_thread, { state }) => {
      expect(await state.getValue(`by ${SECRET}`)).toEqual({ of: [SHOWN] })
      expect(await state.statFile(`/${SECRET}.txt`)).toMatchObject({ path: `/${SHOWN}.txt` })
      expect(await state.env('COPY')).toBe(SHOWN)
    }))

  test('leaves the bytes of its files as they are', () =>
    withWritten(async (_thread, { state }) => {
      const bytes = await state.readFile(`/${SECRET}.txt`)
      expect(Buffer.from(bytes ?? new ArrayBuffer()).toString()).toBe(SECRET)
    }))

  test('T5 knows a secret that the tool has set itself', () =>
    withThread(async (thread) => {
      const call = await thread.open()
      await call.state.setEnv('MINTED', 'nightingale-2')
      await call.state.setValue('token', 'nightingale-2')
      await thread.commit(call)
      expect(await rows(thread)).not.toContain('nightingale')
      expect(call.redactor.redact('nightingale-2')).toBe('[secret MINTED]')
    }, parts))

  test('leaves a value that is declared a text', () =>
    withThread(async ({ open }) => {
      const { state } = await open()
      await state.setEnv('COMPANY', 'nightingale birds', { type: 'text' })
      await state.setValue('by', await state.env('COMPANY'))
      expect(await state.getValue('by')).toBe('nightingale birds')
    }, parts))
})

test('T5 a tool in place gets the secret, and a prompt in place does not', () => {
  const tasks: unknown[] = []
  const chat = scriptedModel([{ text: 'ok' }])
  const work: DeskParts['work'] = async (state, { task }) => {
    tasks.push(task)
    if (task !== 'none') return { status: 'success' }
    const key = await state.env('API_KEY')
    await state.invokeTool('work', { task: key })
    return state.invokeTool('hidden', { topic: `about ${key}` })
  }
  return withDesk({}, async (desk) => {
    await desk.run(await desk.call('work'), { ...desk.with({ chat, work }), env })
    expect(tasks).toEqual(['none', SECRET])
    expect(chat.requests[0]?.messages.at(-1)?.text).toBe(JSON.stringify({ topic: `about ${SHOWN}` }))
    expect(await rows(desk)).not.toContain('nightingale')
  })
})
