/** One worker and one client of one of the integrations, with all defaults; started and asked by the bench. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'

import { Client, Connection } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'

import { answerOrders } from '../../processes/answer-orders.js'
import { processorTime } from '../../processor-time.js'
import type { AskedTurn, PeerOrders, PeerPlace, TakenTurn } from '../peer-orders.js'
import { aiSdkPeer } from './ai-sdk-peer.js'
import { aiSdkStreamingPeer } from './ai-sdk-streaming-peer.js'
import { openAiAgentsPeer } from './openai-agents-peer.js'
import { toolActivities } from './tool-activities.js'
import { distinctText } from './turn.js'
import type { Turn } from './turn.js'

/**
 * In milliseconds, beside twice what the models take. A workflow task that fails is repeated for ever: a bench that waits would
 * never say what is wrong.
 */
const DEADLINE = 5 * 60_000

const { address, namespace, name, taskQueue, bundlePath, calls } = JSON.parse(
  process.argv[2] ?? '',
) as PeerPlace
const logger = new DefaultLogger('ERROR')
Runtime.install({ logger })
const turn: Turn = { calls: 0, resultLength: 0, seconds: 0, asked: new Map(), done: 0 }
const { plugin, workflow, workflowType, turnInput, readText } = {
  ai_sdk: aiSdkPeer,
  ai_sdk_streaming: aiSdkStreamingPeer,
  openai_agents: openAiAgentsPeer,
}[name](turn)

// The bundle names each module by its path from here.
process.chdir(new URL('../..', import.meta.url).pathname)
const code = await bundleOnce()
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowBundle: { codePath: bundlePath },
  activities: toolActivities(turn),
  plugins: [plugin],
  ...(namespace !== undefined && { namespace }),
  ...(calls !== undefined && { maxConcurrentActivityTaskExecutions: calls }),
})
const client = new Client({
  connection: await Connection.connect({ address }),
  plugins: [plugin],
  ...(namespace !== undefined && { namespace }),
})

/** Another process of the same peer may have written it. */
async function bundleOnce(): Promise<string> {
  if (existsSync(bundlePath)) return readFile(bundlePath, 'utf8')
  const bundle = await bundleWorkflowCode({ ...workflow, plugins: [plugin], logger })
  await writeFile(bundlePath, bundle.code)
  return bundle.code
}

/** What the model and the tool do from now on, and the workflow of such a turn. */
function prepare({ past, calls: wanted, resultLength, seconds = 0 }: AskedTurn) {
  Object.assign(turn, { calls: wanted, resultLength, seconds, asked: new Map(), done: 0 })
  return {
    workflowType,
    args: [inputOf(past, wanted + 1)],
    workflowExecutionTimeout: DEADLINE + 2 * seconds * 1000 * (wanted + 1),
  }
}

async function takeTurn(wanted: AskedTurn): Promise<TakenTurn> {
  const { workflowType: type, ...options } = prepare(wanted)
  const workflowId = `${name}-${randomUUID()}`
  const handle = await client.workflow.start(type, { ...options, taskQueue, workflowId })
  const text = readText?.(client, workflowId).then(
    (pieces) => ({ pieces }),
    (error: unknown) => ({ problem: String(error) }),
  )
  // How it ended is the server's to say.
  await handle.result().catch(() => {})
  return {
    workflowId,
    asked: turn.asked.get(workflowId) ?? [],
    done: turn.done,
    ...(text !== undefined && { text: await text }),
  }
}

/** As long as `bytes` says, in JSON: what a peer writes around results is in it. */
function inputOf({ bytes, calls }: AskedTurn['past'], maxSteps: number): unknown {
  const empty = JSON.stringify(turnInput(new Array<string>(calls).fill(''), maxSteps))
  const length = Math.round((bytes - empty.length) / calls)
  return turnInput(
    Array.from({ length: calls }, () => distinctText(length)),
    maxSteps,
  )
}

/** Without the source map at its end. */
function bundleBytes(): number {
  const [withoutMap = ''] = code.split('\n//# sourceMappingURL=data:')
  return Buffer.byteLength(withoutMap)
}

worker.run().catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
answerOrders({ takeTurn, prepare, processorTime, bundleBytes } satisfies PeerOrders)
