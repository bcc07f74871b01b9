import { openStore } from '../store/open-store.js'
import { rotateSecrets as seal } from '../store/threads/variables.js'
import type { Command } from './command.js'

/** After a new key was put first into EVERTHREAD_SECRET_KEY: from then on the others are needed no more. */
export const rotateSecrets: Command = {
  usage: '',
  summary: 'seal all secrets with the first key of EVERTHREAD_SECRET_KEY; the other keys open the old ones',
  arguments: [],
  flags: {},
  async run({ terminal }) {
    const store = await openStore()
    try {
      terminal.line(`secrets: ${await seal(store)} sealed anew with the first key`)
    } finally {
      await store.close()
    }
  },
}
