import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { giveStylesTheNonce } from './browser/csp-nonce.ts'
import { replaceFrame } from './browser/static-frame.ts'
import { warmCache } from './prefetch/warm-cache.ts'
import { queries } from './cache/query-client.ts'
import { makeRouter } from './routes.tsx'
import './styles.css'
import { applyDensity } from './browser/density.ts'
import { applyTheme } from './browser/theme.ts'

giveStylesTheNonce()
applyTheme()
applyDensity()
warmCache()

const root = document.getElementById('root')!
replaceFrame(root)
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={makeRouter(queries)} />
    </QueryClientProvider>
  </StrictMode>,
)
