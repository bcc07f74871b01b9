import { loadRegistry } from 'everthread/worker'

/** Read from a folder in the layout of Standard Agents: names come from the files, checks happen at the start. */
export const library = await loadRegistry(new URL('agents/', import.meta.url))
