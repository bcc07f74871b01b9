// The SDK gives its test server five seconds to start, which a JVM on a busy machine does not keep: it is started here.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { endWithProcess } from '../../src/testing/test-environment.js'
import { EAGER_RETRIES } from '../../src/testing/test-server.js'
import { freePort } from './free-port.js'
import { locateServers } from './servers.js'
import { until } from './until.js'

export interface TimeSkippingServer {
  readonly environment: TestWorkflowEnvironment
  stop(): Promise<void>
}

const shared = Symbol.for('everthread.test.timeSkippingServer')
const scope = globalThis as { [shared]?: Promise<TestWorkflowEnvironment> }

/**
 * The server of this process, for one test file after another; it ends with the process. Not for files that skip time, which
 * what another file left running would hold up, nor for those that end workers.
 */
export function sharedTimeSkippingServer(): Promise<TestWorkflowEnvironment> {
  return (scope[shared] ??= startTimeSkippingServer().then(async ({ environment }) => {
    // No file knows that it is the last one, and vitest kills the process.
    await endWithProcess(environment)
    return environment
  }))
}

/** Starts a time-skipping server; every environment of a test file may share it, one after another. */
export async function startTimeSkippingServer(): Promise<TimeSkippingServer> {
  const port = await freePort()
  // Without --enable-time-skipping time is skipped only while a test asks for it: an idle thread must not time out.
  const server = spawn(locateServers().testServer, [String(port)], {
    stdio: 'ignore',
  })
  const killWithUs = (): void => void server.kill('SIGKILL')
  process.once('exit', killWithUs)
  await until(`the time-skipping server to listen on port ${port}`, () => listens(port))
  // Private, and the only way to tell the SDK that a server which it did not start can skip time.
  const environment = await TestWorkflowEnvironment['create']({
    server: { type: 'existing' },
    client: EAGER_RETRIES,
    address: `127.0.0.1:${port}`,
    supportsTimeSkipping: true,
  })
  return {
    environment,
    async stop() {
      await environment.teardown()
      process.off('exit', killWithUs)
      const gone = once(server, 'exit')
      if (server.kill('SIGKILL')) await gone
    },
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
