import { locateServers } from './servers.js'

/** Global setup: fails the run with one sentence when a server is missing, and tells tests where they are. */
export default function setup(): void {
  const { temporalCli, testServer } = locateServers()
  process.env['TEMPORAL_CLI_PATH'] = temporalCli
  process.env['TEMPORAL_TEST_SERVER_PATH'] = testServer
}
