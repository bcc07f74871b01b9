export { createThreadApp } from './thread-app.js'
export type { ThreadAppOptions } from './thread-app.js'
export { serveThreads } from './serve-threads.js'
export type { ServeThreadsOptions, ThreadServer } from './serve-threads.js'
