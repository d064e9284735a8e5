import { drawWorlds } from "./worlds.ts";

drawWorlds(2);
