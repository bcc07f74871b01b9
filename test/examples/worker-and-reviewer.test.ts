import { expect, test } from 'vitest'

import { studio } from '../../examples/worker-and-reviewer/registry.js'
import { threeModes } from '../support/three-modes.js'
import { createVoice } from '../support/voice.js'

const voice = createVoice()
const chat = voice.model
const write = { name: 'write_asset', args: { svg: '<svg/>' } }
const approve = {
  name: 'approve_asset',
  args: { summary: 'A fine logo.', attachments: ['/attachments/asset.svg'] },
}

threeModes({ registry: studio, models: { chat }, isOnOneStore: true }, (modes) => {
  const start = () => modes.env.threads.create({ agent: 'asset_subagent', message: 'A logo, please.' })

  test('SA-A-08.1 a draft is objected to, mended and approved', async () => {
    voice.says(
      { toolCalls: [write] },
      { text: 'Here is the draft.' },
      { text: 'The colours are wrong.' },
      { toolCalls: [write] },
      { text: 'They are mended.' },
      { toolCalls: [approve] },
    )
    const thread = await start()
    const run = await thread.waitUntilIdle()
    expect(run.session).toMatchObject({
      outcome: 'success',
      message: 'A fine logo.',
      attachments: [{ path: '/attachments/asset.svg' }],
    })
    expect(run.reason).toBe('session_stop')
    expect((await thread.snapshot()).status).toBe('idle')
  })

  test('SA-A-08.1 the worker gives up, and the session fails', async () => {
    voice.says({ toolCalls: [{ name: 'fail_asset', args: { reason: 'No licence for the font.' } }] })
    const thread = await start()
    const run = await thread.waitUntilIdle()
    expect(run.session).toMatchObject({ outcome: 'failure', message: 'No licence for the font.' })
    expect(run.reason).toBe('session_fail')
  })

  test('SA-A-08.1 a status changes nothing but the status', async () => {
    voice.says(
      { toolCalls: [write] },
      { text: 'Here is the draft.' },
      { toolCalls: [{ name: 'update_asset_status', args: { status: 'Under review' } }] },
      { toolCalls: [approve] },
    )
    const thread = await start()
    const run = await thread.waitUntilIdle()
    expect(run.reason).toBe('session_stop')
    const { messages } = await thread.messages()
    expect(messages.some(({ content }) => content === 'Status: Under review')).toBe(true)
  })

  test('SA-A-00.2 the same definition runs as a root thread', async () => {
    voice.says({ toolCalls: [write] }, { text: 'Here it is.' }, { toolCalls: [approve] })
    const thread = await start()
    await thread.waitUntilIdle()
    expect((await thread.snapshot()).parent).toBeNull()
    voice.says({ text: 'Another one.' }, { toolCalls: [approve] })
    await thread.send('Once more.')
    expect((await thread.waitUntilIdle()).reason).toBe('session_stop')
  })

  test('K-30 a session never ends on a file that is missing', async () => {
    voice.says(
      { text: 'Here is the draft.' },
      {
        toolCalls: [
          { name: 'approve_asset', args: { summary: 'Fine.', attachments: ['/attachments/no.svg'] } },
        ],
      },
      { toolCalls: [write] },
    )
    const thread = await start()
    const patience = await thread.waitUntilIdle()
    expect(patience.session).toBeNull()
    const { messages } = await thread.messages()
    expect(messages.some(({ content }) => content?.includes('/attachments/no.svg'))).toBe(true)
  })
})
