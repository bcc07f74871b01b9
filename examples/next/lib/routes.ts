import { chatRoutes } from './chat.ts'
import { COOKIE, userOf } from './login.ts'
import { threads } from './threads.ts'

const cookie = new RegExp(`(?:^|; )${COOKIE}=([^;]+)`)

export const routes = chatRoutes({
  threads,
  userOf: (request) => userOf(cookie.exec(request.headers.get('cookie') ?? '')?.[1]),
})
