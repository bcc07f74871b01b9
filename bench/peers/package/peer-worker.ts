/** A worker process of one of the two integrations and nothing else; it is run as JavaScript. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'

import type { PeerPlace } from '../peer-orders.js'
import { toolActivities } from './tool-activities.js'
import type { Turn } from './turn.js'

const { address, name, taskQueue, bundlePath } = JSON.parse(process.env['BENCH_START'] ?? '{}') as PeerPlace
Runtime.install({ logger: new DefaultLogger('ERROR') })
const turn: Turn = { calls: 0, resultLength: 0, seconds: 0, asked: new Map(), done: 0 }
// The packages of the other one are no part of its start.
const makePeer =
  name === 'ai_sdk'
    ? (await import('./ai-sdk-peer.js')).aiSdkPeer
    : (await import('./openai-agents-peer.js')).openAiAgentsPeer
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowBundle: { codePath: bundlePath },
  activities: toolActivities(turn),
  plugins: [makePeer(turn).plugin],
})
await worker.run()
