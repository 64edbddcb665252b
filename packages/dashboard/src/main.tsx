import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api.ts'
import { giveStylesTheNonce } from './csp-nonce.ts'
import { makeRouter } from './routes.tsx'
import './styles.css'
import { applyTheme } from './theme.ts'

giveStylesTheNonce()
applyTheme()

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // A refusal stays a refusal; what was away may come back.
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
  },
})

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={makeRouter(queries)} />
    </QueryClientProvider>
  </StrictMode>,
)
