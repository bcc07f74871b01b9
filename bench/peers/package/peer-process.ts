/** One worker and one client of one of the two integrations, with all defaults; started and asked by the bench. */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'

import { Client, Connection } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'

import { answerOrders } from '../../processes/answer-orders.js'
import type { AskedTurn, PeerOrders, PeerPlace } from '../peer-orders.js'
import { aiSdkPeer } from './ai-sdk-peer.js'
import { openAiAgentsPeer } from './openai-agents-peer.js'
import { toolActivities } from './tool-activities.js'
import { distinctText } from './turn.js'
import type { Turn } from './turn.js'

/** A workflow task that fails is repeated for ever: a bench that waits would never say what is wrong. */
const DEADLINE = '5 minutes'

const { address, name, taskQueue, bundlePath } = JSON.parse(process.argv[2] ?? '') as PeerPlace
const logger = new DefaultLogger('ERROR')
Runtime.install({ logger })
const turn: Turn = { calls: 0, resultLength: 0, asked: [], done: 0 }
const { plugin, workflow, workflowType, turnInput } = {
  ai_sdk: aiSdkPeer,
  openai_agents: openAiAgentsPeer,
}[name](turn)

// The bundle names each module by its path from here.
process.chdir(new URL('../..', import.meta.url).pathname)
const { code } = await bundleWorkflowCode({ ...workflow, plugins: [plugin], logger })
await writeFile(bundlePath, code)
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowBundle: { codePath: bundlePath },
  activities: toolActivities(turn),
  plugins: [plugin],
})
const client = new Client({ connection: await Connection.connect({ address }), plugins: [plugin] })

async function takeTurn({ past, calls, resultLength }: AskedTurn) {
  Object.assign(turn, { calls, resultLength, asked: [], done: 0 })
  const handle = await client.workflow.start(workflowType, {
    taskQueue,
    workflowId: `${name}-${randomUUID()}`,
    args: [inputOf(past, calls + 1)],
    workflowExecutionTimeout: DEADLINE,
  })
  // How it ended is the server's to say.
  await handle.result().catch(() => {})
  return { workflowId: handle.workflowId, asked: turn.asked, done: turn.done }
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
answerOrders({ takeTurn, bundleBytes } satisfies PeerOrders)
