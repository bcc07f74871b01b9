import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

const call = (name: string) => ({ name, args: { task: marked(name) } })

threeRuns((desk) => {
  test('values outlive the run and context does not', async () => {
    const seen: unknown[] = []
    const { thread } = await desk.start({
      chat: [
        { toolCalls: [call('work'), call('other')] },
        { text: marked('One') },
        { toolCalls: [call('other')] },
        { text: marked('Two') },
      ],
      tools: {
        work: async (state) => {
          await state.setValue('count', { text: marked('kept') })
          state.context['step'] = marked('shared')
          return { status: 'success' }
        },
        other: async (state) => {
          seen.push([await state.getValue('count'), state.context['step']])
          return { status: 'success' }
        },
      },
    })
    await thread.waitUntilIdle()
    await thread.send(marked('Again'))
    await thread.waitUntilIdle()
    const kept = { text: marked('kept') }
    expect(seen).toEqual([
      [kept, marked('shared')],
      [kept, undefined],
    ])
  })

  test('AR-EC.14 AR-ID.11 files that a tool writes are there for the client, events have no bytes', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [call('work'), call('other')] }, { text: marked('Done') }],
      tools: {
        work: async (state) => {
          await state.writeFile('/notes/a.txt', marked('Written'), 'text/plain')
          const own = await state.readFile('/notes/a.txt')
          return { status: 'success', result: Buffer.from(own ?? new ArrayBuffer(0)).toString() }
        },
        other: async (state) => ({
          status: 'success',
          result: (await state.findFiles('/notes/*')).paths.join(),
        }),
      },
    })
    await thread.waitUntilIdle()
    expect((await toolResults(thread)).map(({ content }) => content)).toEqual([
      marked('Written'),
      '/notes/a.txt',
    ])
    expect(Buffer.from((await thread.readFile('/notes/a.txt')) ?? new ArrayBuffer(0)).toString()).toBe(
      marked('Written'),
    )
    const changes = (await factsOf(thread)).filter(({ type }) => type === 'file.changed')
    const written = { path: '/notes/a.txt', change: 'created', size: marked('Written').length }
    expect(changes).toMatchObject([{ toolCallId: 'call_1_1_0', payload: written }])
    expect(JSON.stringify(changes)).not.toContain(marked('Written'))
  })

  test('a tool that throws keeps what it wrote before', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [call('work')] }, { text: marked('Done') }, { text: marked('Queued') }],
      tools: {
        work: async (state) => {
          await state.setValue('kept', true)
          await state.queueMessage({ role: 'user', content: marked('Before the throw') })
          throw new Error(marked('thrown'))
        },
      },
    })
    await thread.waitUntilIdle()
    const contents = (await transcript(thread)).map(({ content }) => content)
    expect(contents).toContain(marked('Before the throw'))
  })

  test('a tool that times out keeps nothing', async () => {
    const seen: unknown[] = []
    const { thread } = await desk.start({
      chat: [{ toolCalls: [call('slow'), call('other')] }, { text: marked('Done') }],
      tools: {
        slow: async (state) => {
          await state.setValue('lost', true)
          await state.queueMessage({ role: 'user', content: marked('Never') })
          await new Promise((_, reject) => {
            state.execution?.abortSignal.addEventListener('abort', () => reject(new Error('aborted')))
          })
          return { status: 'success' }
        },
        other: async (state) => (seen.push(await state.getValue('lost')), { status: 'success' }),
      },
    })
    await thread.waitUntilIdle()
    expect(seen).toEqual([null])
    expect((await transcript(thread)).map(({ content }) => content)).not.toContain(marked('Never'))
  })

  test('a tool reads the transcript and injects into it', async () => {
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [call('work')] }, { text: marked('Done') }],
      tools: {
        work: async (state) => {
          const { messages, total } = await state.getMessages()
          const injected = await state.injectMessage({
            role: 'user',
            content: marked('Injected'),
            silent: true,
          })
          const found = await state.getMessage(injected.id)
          return {
            status: 'success',
            result: { total, first: messages[0]?.content ?? null, found: found?.content ?? null },
          }
        },
      },
    })
    await thread.waitUntilIdle()
    const [result] = await toolResults(thread)
    expect(JSON.parse(result?.content ?? '')).toMatchObject({
      first: marked('Hello'),
      found: marked('Injected'),
    })
    expect((await transcript(thread)).map(({ content }) => content)).not.toContain(marked('Injected'))
    expect(chat.requests[1]?.messages.map(({ text }) => text)).toContain(marked('Injected'))
  })

  test('an attachment of a tool result becomes a file', async () => {
    const { thread } = await desk.start({
      chat: [{ toolCalls: [call('work')] }, { text: marked('Done') }],
      tools: {
        work: () => ({
          status: 'success',
          result: marked('See file'),
          attachments: [{ name: 'a.txt', mimeType: 'text/plain', data: Buffer.from(marked('File')) }],
        }),
      },
    })
    await thread.waitUntilIdle()
    const [result] = await toolResults(thread)
    const [attachment] = result?.attachments ?? []
    expect(attachment).toMatchObject({ name: 'a.txt', mimeType: 'text/plain' })
    const bytes = await thread.readFile(attachment?.path ?? '')
    expect(Buffer.from(bytes ?? new ArrayBuffer(0)).toString()).toBe(marked('File'))
  })
})
