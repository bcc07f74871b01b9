import { openStore } from '../store/store.js'
import { rotateSecrets as seal } from '../store/rotate-secrets.js'
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
      const { sealed, kept } = await seal(store)
      terminal.line(`secrets: ${sealed} sealed anew, ${kept} had the first key already`)
    } finally {
      await store.close()
    }
  },
}
