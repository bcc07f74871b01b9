import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Client, Connection } from '@temporalio/client'
import { expect, inject, onTestFinished, test } from 'vitest'

import { ThreadClient } from '../../src/client/index.js'
import { marked } from '../support/marker.js'
import { makeBucket } from '../support/s3-bucket.js'
import type { TestBucket } from '../support/s3-bucket.js'
import { contentOf } from '../support/s3-blobs.js'
import type { integrationDesk } from './worker/desk.js'
import { startModelServer } from './worker/model-server.js'
import type { ModelServer } from './worker/model-server.js'
import { startWorkerProcess } from './worker/run-worker.js'
import type { WorkerPlace, WorkerProcess } from './worker/run-worker.js'

const NOTES = marked('Notes that a child reads')
/** Sent to the model as it is. */
const PHOTO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
/** Uploaded in parts. */
const RECORDING = randomBytes(12 * 1_048_576)

interface World {
  readonly threads: ThreadClient<ReturnType<typeof integrationDesk>>
  readonly model: ModelServer
  readonly bucket: TestBucket
  /** Holds the database: no blob may come into it. */
  readonly folder: string
  startWorker(): Promise<WorkerProcess>
}

/** A client here, workers in processes of their own, and a bucket between them. */
async function createWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-s3-thread-'))
  const bucket = await makeBucket()
  const model = await startModelServer()
  const place: WorkerPlace = {
    address: inject('devServerAddress'),
    namespace: 'default',
    taskQueue: `s3-${randomUUID()}`,
    store: {
      database: join(folder, 'threads.db'),
      blobs: bucket.url('threads'),
      secretKey: randomBytes(32).toString('base64'),
    },
    modelUrl: model.url,
    effects: join(folder, 'effects.jsonl'),
    codePath: inject('workflowBundlePath'),
    graceTime: 60_000,
  }
  await writeFile(place.effects, '')
  const connection = Connection.lazy({ address: place.address })
  const { taskQueue, store } = place
  const threads: World['threads'] = new ThreadClient({ client: new Client({ connection }), taskQueue, store })
  const workers: WorkerProcess[] = []
  onTestFinished(async () => {
    for (const worker of workers) await worker.kill()
    await threads.close()
    await connection.close()
    await model.close()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    threads,
    model,
    bucket,
    folder,
    async startWorker() {
      const worker = await startWorkerProcess(place)
      workers.push(worker)
      await worker.run()
      return worker
    },
  }
}

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test("a thread's files are in the bucket and nowhere else", async () => {
  const { threads, model, bucket, folder, startWorker } = await createWorld()
  const worker = await startWorker()
  const held = model.hold('s3-files', 'before')
  const thread = await threads.create({
    agent: 'clerk',
    id: 's3-files',
    limits: { heartbeatTimeout: 3_000 },
    message: {
      content: marked('#s3-files please research'),
      attachments: [
        { name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(NOTES) },
        { name: 'photo.png', mimeType: 'image/png', data: PHOTO },
        { name: 'recording.bin', mimeType: 'application/octet-stream', data: RECORDING },
      ],
    },
  })
  await held.arrived
  await worker.kill()
  await startWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })

  // The first worker was killed: the second one read the photo from the bucket as well.
  const requests = model.requests('s3-files').map((messages) => JSON.stringify(messages))
  expect(requests[0]).toContain(PHOTO.toString('base64'))
  expect(requests[1]).toContain(PHOTO.toString('base64'))
  // The child got the notes, and gave them back.
  const [child] = (await thread.snapshot()).children
  const bytesOf = async (threadId: string, name: string): Promise<Buffer> =>
    Buffer.from((await threads.get(threadId).readFile(`/attachments/${name}`)) ?? new ArrayBuffer())
  expect(String(await bytesOf(child?.reference ?? '', 'notes.txt'))).toBe(NOTES)
  expect(Buffer.compare(await bytesOf('s3-files', 'recording.bin'), RECORDING)).toBe(0)

  const digests = [Buffer.from(NOTES), PHOTO, RECORDING].map(digestOf)
  const keys = await contentOf(bucket)
  expect(keys.map((key) => key.split('/').at(-1) ?? '').toSorted()).toEqual(digests.toSorted())
  expect(keys.every((key) => key.startsWith('threads/'))).toBe(true)
  expect((await readdir(folder)).filter((name) => !name.startsWith('threads.db'))).toEqual(['effects.jsonl'])
})
