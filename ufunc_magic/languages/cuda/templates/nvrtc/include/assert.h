// NVRTC has assert().
#pragma once
