import { expect, test } from 'vitest'
import { LIMITS } from '../../src/protocol/limits.js'
import { removeFile } from '../../src/store/files/files.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { linesOf, step, withContext } from './context-desk.js'
import type { ContextDesk, RequestChanges } from './context-desk.js'

const PNG = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1')
const PDF = Buffer.from('%PDF-1.7 and so on')

const sent = async (desk: ContextDesk, changes?: RequestChanges): Promise<readonly string[]> =>
  linesOf((await desk.request(changes)).options.prompt).slice(1)

test('SA-R-04.7 an image of a message and of a result are parts', () =>
  withContext(async (desk) => {
    const [plan, view] = [await desk.file('/plan.png', PNG), await desk.file('/view.png', PNG)]
    const [call = {}, result = {}] = step('c1', 'Seen.')
    await desk.add({ content: 'See', attachments: [plan] }, call, { ...result, attachments: [view] })
    const { options } = await desk.request()
    expect(linesOf(options.prompt).slice(1)).toEqual([
      'user: See | Attached files:\n- plan.png (image/png, 18 bytes) at /plan.png | image/png',
      'assistant: call c1',
      'tool: text of c1: Seen.\n\nAttached files:\n- view.png (image/png, 18 bytes) at /view.png',
      'user: Files of the results above: | image/png',
    ])
    const part = options.prompt[1]?.content.at(-1)
    expect(part).toMatchObject({ type: 'file', filename: 'plan.png', data: { type: 'data' } })
    expect(Buffer.from((part as { data: { data: Uint8Array } }).data.data)).toEqual(PNG)
  }))

test('SA-R-04.8 without vision the image stays in the store', () =>
  withContext(async (desk) => {
    const plan = await desk.file('/plan.png', PNG)
    await desk.add({ content: 'See', attachments: [plan] })
    const note = 'user: See | Attached files:\n- plan.png (image/png, 18 bytes) at /plan.png'
    expect(await sent(desk, { model: { supportsImages: false } })).toEqual([note])
    expect((await desk.store.read((db) => readTranscript(db, 't')))[0]?.attachments).toEqual([plan])
    expect(await sent(desk)).toEqual([`${note} | image/png`])
  }))

test('documents are parts where the model is said to take them', () =>
  withContext(async (desk) => {
    await desk.add({ attachments: [await desk.file('/paper.pdf', PDF, 'application/pdf')] })
    expect((await sent(desk))[0]).not.toContain('| application/pdf')
    expect((await sent(desk, { model: { supportsDocuments: true } }))[0]).toContain('| application/pdf')
  }))

test('a file that cannot be read is told as such', () =>
  withContext(async (desk) => {
    const gone = await desk.file('/gone.png', PNG)
    const fake = await desk.file('/fake.png', Buffer.from('no image'))
    await desk.add({ attachments: [gone, fake] })
    await desk.store.write((tx) => removeFile(tx, 't', '/gone.png'))
    expect(await sent(desk)).toEqual([
      'user: Attached files:\n- gone.png (image/png, 18 bytes) at /gone.png (could not be read)\n' +
        '- fake.png (image/png, 8 bytes) at /fake.png (could not be read)',
    ])
  }))

test('a file above 20 MB is told by its path', () =>
  withContext(async (desk) => {
    const big = { ...(await desk.file('/big.png', PNG)), size: LIMITS.inlinedFileBytes + 1 }
    await desk.add({ attachments: [big] })
    expect(await sent(desk)).toEqual([
      'user: Attached files:\n- big.png (image/png, 20971521 bytes) at /big.png',
    ])
  }))

test('T12 old images leave the requests in jumps', () =>
  withContext(async (desk) => {
    const attachments = [await desk.file('/plan.png', PNG)]
    let before: readonly string[] = []
    const changed: number[] = []
    for (let message = 1; message <= 9; message += 1) {
      await desk.add({ content: `${message}`, attachments })
      const lines = await sent(desk, { prompt: { recentImageThreshold: 3 } })
      if (before.some((line, index) => line !== lines[index])) changed.push(message)
      expect(lines.slice(-3).every((line) => line.endsWith('| image/png'))).toBe(true)
      before = lines
    }
    expect(changed).toEqual([6, 9])
  }))
