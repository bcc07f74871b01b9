import { acceptedContent, inputRequired } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { callOf, resumeOf, serveMcp, sourcesOfTests } from './mcp-test-server.js'

const { serving, source } = sourcesOfTests()

describe('a question to a person', () => {
  const size = {
    type: 'object' as const,
    properties: { size: { type: 'integer' as const } },
    required: ['size'],
  }

  /** Asks for a size, then answers with it and its own state. */
  const asking = (look?: Parameters<typeof serveMcp>[1]) =>
    serving((server) => {
      server.registerTool(
        'cut',
        { description: 'Cuts', inputSchema: z.object({ wood: z.string() }) },
        ({ wood }, context) => {
          const responses = context.mcpReq.inputResponses
          if (responses === undefined)
            return inputRequired({
              inputRequests: { size: inputRequired.elicit({ message: 'How long?', requestedSchema: size }) },
              requestState: `state of ${wood}`,
            })
          const accepted = acceptedContent<{ size: number }>(responses, 'size')
          const state = context.mcpReq.requestState<string>()
          const text = accepted === undefined ? 'not cut' : `${wood} of ${accepted.size}, ${String(state)}`
          return { content: [{ type: 'text', text }] }
        },
      )
    }, look)

  test('is a form with the state of the call, and the answer goes to the server', async () => {
    const demo = source({ name: 'saw', url: await asking(), tools: 'all' })
    const asked = await callOf(demo, 'cut', { args: { wood: 'oak' } })
    expect(asked).toEqual({
      ...{ status: 'pending', form: { ...size, description: 'How long?' } },
      resume: { input: { keys: ['size'], requestState: 'state of oak' } },
    })
    const { resume } = asked as { resume: object }
    const args = { wood: 'oak' }
    const answered = { status: 'success', result: { size: 3 } } as const
    expect(await resumeOf(demo, 'cut', { args, resume, answer: answered })).toMatchObject({
      content: [{ text: 'oak of 3, state of oak' }],
    })
    const declined = { status: 'error', error: 'No.' } as const
    expect(await resumeOf(demo, 'cut', { args, resume, answer: declined })).toMatchObject({
      content: [{ text: 'not cut' }],
    })
  })

  test('whose answer finds no server waits with it, and is sent when the server is back', async () => {
    let isDown = false
    const url = await asking(({ socket }) => {
      if (isDown) socket.destroy()
      return isDown
    })
    const args = { wood: 'oak' }
    const { resume } = (await callOf(source({ name: 'saw', url, tools: 'all' }), 'cut', { args })) as {
      resume: object
    }
    isDown = true
    const answer = { status: 'success', result: { size: 3 } } as const
    // Another worker: it has no connection yet.
    const other = source({ name: 'saw', url, tools: 'all' })
    const waits = await resumeOf(other, 'cut', { args, resume, answer })
    expect(waits).toMatchObject({ status: 'pending', after: 5_000, resume: { answer, tries: 1 } })
    const again = await resumeOf(other, 'cut', {
      args,
      resume: (waits as { resume: object }).resume,
      answer: null,
    })
    expect(again).toMatchObject({ status: 'pending', after: 10_000, resume: { answer, tries: 2 } })
    isDown = false
    expect(
      await resumeOf(other, 'cut', { args, resume: (again as { resume: object }).resume, answer: null }),
    ).toMatchObject({ content: [{ text: 'oak of 3, state of oak' }] })
  })
  test('whose answer finds the connection gone waits with it, too', async () => {
    const { url, close } = await serveMcp((server) => {
      server.registerTool('cut', { description: 'Cuts' }, () =>
        inputRequired({
          inputRequests: { size: inputRequired.elicit({ message: 'How long?', requestedSchema: size }) },
        }),
      )
    })
    const demo = source({ name: 'saw', url, tools: 'all' })
    const { resume } = (await callOf(demo, 'cut')) as { resume: object }
    await close()
    const answer = { status: 'success', result: { size: 3 } } as const
    await expect
      .poll(() => resumeOf(demo, 'cut', { args: {}, resume, answer }))
      .toMatchObject({
        ...{ status: 'pending', resume: { answer, tries: 1 } },
      })
  })
})
