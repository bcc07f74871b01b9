import { SEARCH_ATTRIBUTES } from '../protocol/messages.js'

/** Arguments of `temporal server start-dev` with which threads run well. */
export const DEV_SERVER_ARGUMENTS: readonly string[] = [
  // An unregistered search attribute blocks a thread, so these are registered before the first thread.
  ...Object.values(SEARCH_ATTRIBUTES).map(
    (name) => `--search-attribute=${name}=${name === SEARCH_ATTRIBUTES.tags ? 'KeywordList' : 'Keyword'}`,
  ),
  // A dispatch costs one poll of a queue that the server polls 20 times a second: 200 ms a step instead of 12.
  '--dynamic-config-value=history.transferProcessorMaxPollRPS=2000',
  '--dynamic-config-value=history.timerProcessorMaxPollRPS=2000',
  // A history is deleted when these queues have recorded their progress: every 30 seconds without this.
  '--dynamic-config-value=history.transferProcessorUpdateAckInterval="1s"',
  '--dynamic-config-value=history.visibilityProcessorUpdateAckInterval="1s"',
  // One connection to SQLite: without these every transaction waits for the disk.
  '--sqlite-pragma=journal_mode=wal',
  '--sqlite-pragma=synchronous=normal',
]
